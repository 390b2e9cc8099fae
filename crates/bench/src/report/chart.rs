//! Draws a graph, by the same code as SVG and as PNG. Raw layers are thin, dashed and grey; a point that stayed noisy
//! is an open marker; the legend is beside the graph, never on it.
//!
//! It must not choose what is drawn (`graph`) nor the position of a value (`axis`). Used by `write`; uses `graph`,
//! `axis` and `svg`.

use std::io;
use std::ops::Range;
use std::sync::Once;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::series::DashedLineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use super::graph::{Graph, GraphKind, GraphLine};
use super::svg;
use crate::record::CurveLevel;

/// The size of SVG and PNG. It is large, because both are shown smaller.
pub const SIZE: (u32, u32) = (1600, 1000);
const FONT: &str = "sans-serif";
const TITLE: f64 = 46.0;
const LABEL: f64 = 36.0;
const LEFT: u32 = 150;
const BELOW: u32 = 95;
const MARGIN: u32 = 24;
/// Colours that no curve has: the greys of raw layers are pure, these are not.
const INK: RGBColor = RGBColor(0x1F, 0x23, 0x28);
const GRID: RGBColor = RGBColor(0xE2, 0xE5, 0xE9);
const EVEN: RGBColor = RGBColor(0x70, 0x76, 0x80);
/// The maximum lengths of names of systems and of titles; longer ones are cut.
const LONGEST_NAME: usize = 22;
const LONGEST_TITLE: usize = 62;
/// The width of a letter as a fraction of the font size, rather too large than too small.
const LETTER: f64 = 0.57;
/// The width of a line's sample in the legend, and the gap between it and its name.
const SAMPLE: i32 = 64;
const GAP: i32 = 14;

type Area<'a, B> = DrawingArea<B, Shift>;
type DrawError<B> = DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>;
type Plot<'a, B> = ChartContext<'a, B, Cartesian2d<Axis, Axis>>;

/// Returns the graph as a whole SVG file, in which each curve is a group with its name.
pub fn svg(graph: &Graph) -> io::Result<String> {
    let mut drawing = String::new();
    render(graph, SVGBackend::with_string(&mut drawing, SIZE))?;
    Ok(svg::with_curve_groups(&drawing, &graph.lines))
}

/// Returns the graph as a whole PNG file.
pub fn png(graph: &Graph) -> io::Result<Vec<u8>> {
    let (width, height) = SIZE;
    let mut pixels = vec![0; (width * height * 3) as usize];
    render(graph, BitMapBackend::with_buffer(&mut pixels, SIZE))?;
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(file)
}

fn render<B: DrawingBackend>(graph: &Graph, backend: B) -> io::Result<()> {
    register_font();
    let root = backend.into_drawing_area();
    let failed = |error: DrawError<B>| io::Error::other(format!("cannot draw: {error}"));
    draw(graph, &root).map_err(failed)?;
    root.present().map_err(failed)
}

/// Registers the font of the bitmap, which is in the program itself: no font of the machine is needed.
fn register_font() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let regular = plotters::style::register_font(FONT, FontStyle::Normal, dejavu::sans::regular());
        let bold = plotters::style::register_font(FONT, FontStyle::Bold, dejavu::sans::bold());
        assert!(regular.is_ok() && bold.is_ok(), "the embedded font is whole");
    });
}

fn draw<B: DrawingBackend>(graph: &Graph, root: &Area<B>) -> Result<(), DrawError<B>> {
    root.fill(&WHITE)?;
    let (left, legend) = root.split_horizontally(SIZE.0 - legend_width(&graph.lines));
    let (x, y) = axes(graph);
    let mut plot = ChartBuilder::on(&left)
        .margin(MARGIN)
        .margin_right(MARGIN * 2)
        .caption(truncated(&graph.title, LONGEST_TITLE), (FONT, TITLE, FontStyle::Bold, &INK))
        .x_label_area_size(BELOW)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(x.clone(), y.clone())?;
    draw_grid(&mut plot, graph.kind)?;
    if graph.kind == GraphKind::Ratio {
        let even = [x.low, x.high].map(|at| (at, y.position(1.0)));
        plot.draw_series(LineSeries::new(even, EVEN.stroke_width(3)))?;
    }
    for (i, line) in graph.lines.iter().enumerate() {
        let dots: Vec<_> = line.dots.iter().map(|dot| (x.position(dot.x), y.position(dot.y), dot.noisy)).collect();
        draw_curve(&mut plot, line, i, &dots)?;
    }
    draw_legend(&legend, &graph.lines)
}

fn axes(graph: &Graph) -> (Axis, Axis) {
    let dots = || graph.lines.iter().flat_map(|line| &line.dots);
    let (x_scale, y_scale) = graph.scales();
    let xs: Vec<f64> = dots().map(|dot| dot.x).collect();
    let mut ys: Vec<f64> = dots().map(|dot| dot.y).collect();
    match graph.kind {
        GraphKind::Ratio => ys.push(1.0),
        GraphKind::Hidden => ys.push(100.0),
        _ => {}
    }
    (Axis::over(x_scale, &xs), Axis::over(y_scale, &ys))
}

/// An axis for the drawing library: it takes positions, not values.
impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, position: &f64, (first, last): (i32, i32)) -> i32 {
        let fraction = (position - self.low) / (self.high - self.low);
        first + (fraction * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let bold = !hint.weight().allow_light_points();
        self.ticks.iter().filter(|_| bold).map(|(position, _)| *position).collect()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, position: &f64) -> String {
        self.label(*position)
    }
}

fn draw_grid<B: DrawingBackend>(plot: &mut Plot<B>, kind: GraphKind) -> Result<(), DrawError<B>> {
    let (below, beside) = kind.axes();
    plot.configure_mesh()
        .max_light_lines(0)
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID.stroke_width(2))
        .axis_style(INK.stroke_width(2))
        .set_all_tick_mark_size(9)
        .label_style((FONT, LABEL, &INK))
        .axis_desc_style((FONT, LABEL, &INK))
        .x_desc(below)
        .y_desc(beside)
        .draw()
}

/// Draws one curve: first its line, then its markers, only in the colour of the curve. `svg` relies on that.
fn draw_curve<B: DrawingBackend>(
    plot: &mut Plot<B>,
    line: &GraphLine,
    i: usize,
    dots: &[(f64, f64, bool)],
) -> Result<(), DrawError<B>> {
    let colour = rgb(line);
    let style = colour.stroke_width(width(line.level));
    let positions = || dots.iter().map(|(x, y, _)| (*x, *y)).collect::<Vec<_>>();
    if dots.len() > 1 {
        match dash(line.level, i) {
            Some((dash, gap)) => plot.draw_series(DashedLineSeries::new(positions(), dash, gap, style))?,
            None => plot.draw_series(LineSeries::new(positions(), style))?,
        };
    }
    let radius = if line.level == CurveLevel::Raw { 5 } else { 6 };
    for &(x, y, noisy) in dots {
        if noisy {
            plot.draw_series([
                Circle::new((x, y), radius + 3, WHITE.filled()),
                Circle::new((x, y), radius + 3, colour.stroke_width(3)),
            ])?;
        } else {
            plot.draw_series([Circle::new((x, y), radius, colour.filled())])?;
        }
    }
    Ok(())
}

fn rgb(line: &GraphLine) -> RGBColor {
    let (r, g, b) = line.colour;
    RGBColor(r, g, b)
}

fn width(level: CurveLevel) -> u32 {
    if level == CurveLevel::Raw { 3 } else { 5 }
}

/// Returns the lengths of dash and gap; None for a solid line. Raw layers have different dashes, because their greys
/// differ little.
fn dash(level: CurveLevel, i: usize) -> Option<(i32, i32)> {
    match level {
        CurveLevel::Library => None,
        CurveLevel::Layer => Some((26, 10)),
        CurveLevel::Raw => Some([(18, 8), (8, 8), (34, 10), (4, 8)][i % 4]),
    }
}

fn legend_width(lines: &[GraphLine]) -> u32 {
    let longest = lines.iter().map(|line| line.system.chars().count().clamp(6, LONGEST_NAME)).max().unwrap_or(0);
    (longest as f64 * LABEL * LETTER) as u32 + (SAMPLE + GAP) as u32 + MARGIN
}

/// Draws the legend: names from the top, those of raw layers first. Each name comes before its sample: `svg` relies
/// on that.
fn draw_legend<B: DrawingBackend>(area: &Area<B>, lines: &[GraphLine]) -> Result<(), DrawError<B>> {
    let top = f64::from(MARGIN) + TITLE * 1.5;
    let height = f64::from(SIZE.1 - BELOW) - top;
    let step = (LABEL * 1.5).min(height / lines.len().max(1) as f64);
    let letters = LABEL.min(step * 0.9);
    let middle = Pos::new(HPos::Left, VPos::Center);
    for (i, line) in lines.iter().enumerate() {
        let y = (top + step * (i as f64 + 0.5)) as i32;
        let name = (FONT, letters, &INK).into_text_style(area).pos(middle);
        area.draw(&Text::new(truncated(&line.system, LONGEST_NAME), (SAMPLE + GAP, y), name))?;
        let ends = [(0, y), (SAMPLE, y)];
        let style = rgb(line).stroke_width(width(line.level));
        match dash(line.level, i) {
            Some((dash, gap)) => area.draw(&DashedPathElement::new(ends, dash, gap, style))?,
            None => area.draw(&PathElement::new(ends, style))?,
        }
    }
    Ok(())
}

fn truncated(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    text.chars().take(longest - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{example, graph};
    use super::*;
    use crate::record::BenchmarkRecord;

    const SYSTEMS: [&str; 8] = ["hawser", "tcp", "mpich", "memcpy", "openmpi", "packet", "intel", "mvapich"];

    /// The elements of a curve's group.
    fn group<'a>(drawing: &'a str, line: &GraphLine) -> Vec<&'a str> {
        let head = format!("<g data-curve=\"{}\" data-points=\"{}\">", line.system, line.dots.len());
        let mut groups = drawing.split(head.as_str()).skip(1);
        let group = groups.next().unwrap_or_else(|| panic!("{head} is not drawn"));
        assert!(groups.next().is_none(), "{head} is there twice");
        group.split("</g>").next().unwrap().trim().lines().collect()
    }

    fn check_svg(graph: &Graph) {
        let drawing = svg(graph).unwrap();
        assert_eq!(drawing.matches("<g ").count(), graph.lines.len(), "{}", graph.name);
        assert_eq!(drawing.matches("</g>").count(), graph.lines.len(), "{}", graph.name);
        for line in &graph.lines {
            let elements = group(&drawing, line);
            let markers = elements.iter().filter(|element| element.starts_with("<circle")).count();
            let open = line.dots.iter().filter(|dot| dot.noisy).count();
            assert_eq!(markers, line.dots.len() + open, "{} {}", graph.name, line.system);
            let is_line = |element: &&str| element.starts_with("<polyline") || element.starts_with("<line");
            assert_eq!(elements.iter().any(is_line), line.dots.len() > 1, "{} {}", graph.name, line.system);
        }
    }

    fn check_png(graph: &Graph) {
        let file = png(graph).unwrap();
        let mut reader = png::Decoder::new(file.as_slice()).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), SIZE);
        for line in &graph.lines {
            let (r, g, b) = line.colour;
            let count = pixels.chunks_exact(3).filter(|pixel| *pixel == [r, g, b]).count();
            // The sample in the legend alone has fewer pixels than these.
            let least = usize::from(line.level != CurveLevel::Raw) * 300 + line.dots.len() * 30;
            assert!(count > least, "{} {}: {count} pixels", graph.name, line.system);
        }
    }

    fn check(record: &BenchmarkRecord) {
        for graph in graph::all(record) {
            check_svg(&graph);
            check_png(&graph);
        }
    }

    #[test]
    fn every_curve_is_drawn_of_one_to_eight_systems() {
        for count in 1..=SYSTEMS.len() {
            let record = example::record(&SYSTEMS[..count]);
            let graphs = graph::all(&record);
            assert_eq!(graphs[0].lines.len(), count);
            assert!(graphs.iter().flat_map(|graph| &graph.lines).all(|line| line.dots.len() >= 2));
            graphs.iter().for_each(check_svg);
        }
        check(&example::record(&SYSTEMS));
    }

    #[test]
    fn size_zero_and_single_points_are_drawn() {
        let mut record = example::record(&[]);
        record.curves = vec![
            example::curve("hawser", "barrier", &[0]),
            example::curve("mpich", "barrier", &[0]),
            example::curve("hawser", "pingpong", &[0, 1, 3, 1000]),
            example::curve("mpich", "pingpong", &[128]),
            example::curve("tcp", "pingpong", &[0]),
        ];
        assert_eq!(graph::all(&record).len(), 4);
        check(&record);
    }

    #[test]
    fn long_names_are_cut_and_many_curves_have_room() {
        assert_eq!(truncated("abcdef", 6), "abcdef");
        assert_eq!(truncated("abcdefg", 6), "abcde…");
        let systems: Vec<String> = (0..60).map(|i| format!("a system with a long name {i}")).collect();
        let systems: Vec<&str> = systems.iter().map(String::as_str).collect();
        graph::all(&example::record(&systems)).iter().for_each(check_svg);
    }
}

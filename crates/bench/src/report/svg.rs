//! Names the curves in an SVG: the elements of a curve, line and markers, are put into a group with
//! `data-curve="SYSTEM"`, so that a browser's tests, styles and screen readers find it.
//!
//! The drawing library writes one element a line and no names. A curve is found by its colour: nothing else has the
//! colour but the curve's sample in the legend, which comes later. This module must not change the picture. Used by
//! `chart`, whose output it changes.

use super::graph::GraphLine;
use super::palette::Rgb;

/// Returns the same drawing with each curve in a group of its own; `lines` are in the order in which they were drawn.
pub fn with_curve_groups(drawing: &str, lines: &[GraphLine]) -> String {
    let mut out = String::with_capacity(drawing.len() + 64 * lines.len());
    let mut remaining = lines.iter().peekable();
    let mut open: Option<Rgb> = None;
    let elements: Vec<&str> = drawing.lines().collect();
    for (i, element) in elements.iter().enumerate() {
        // The white inside of an open marker belongs to the ring that comes next.
        let coloured = if is_hollow(element) { elements.get(i + 1).unwrap_or(element) } else { element };
        if open.is_some_and(|colour| !has_colour(coloured, colour)) {
            out.push_str("</g>\n");
            open = None;
        }
        if open.is_none()
            && let Some(line) = remaining.next_if(|line| has_colour(coloured, line.colour))
        {
            out.push_str(&format!(
                "<g data-curve=\"{}\" data-points=\"{}\">\n",
                escaped(&line.system),
                line.dots.len()
            ));
            open = Some(line.colour);
        }
        out.push_str(element);
        out.push('\n');
    }
    out
}

fn has_colour(element: &str, colour: Rgb) -> bool {
    let colour = hex(colour);
    element.contains(&format!("stroke=\"{colour}\"")) || element.contains(&format!("fill=\"{colour}\""))
}

fn is_hollow(element: &str) -> bool {
    element.starts_with("<circle") && element.contains("fill=\"#FFFFFF\"")
}

pub fn hex((r, g, b): Rgb) -> String {
    format!("#{r:02X}{g:02X}{b:02X}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

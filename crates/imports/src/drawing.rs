//! Draws a graph as SVG: boxes in rows, and an arrow from each box to each box that it uses. A used box should be
//! below the boxes that use it.
//!
//! An arrow that points down is grey; any other arrow is red, and so are the boxes of a cycle. `svg` returns the text
//! of the diagrams; the program (`main`) writes the files.

use std::collections::BTreeSet;

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

/// `HEIGHT` is the height of a box, `GAP` the space between two boxes of a row, and `STEP` the distance between the
/// tops of two rows, all in pixels.
const HEIGHT: usize = 24;
const GAP: usize = 16;
const STEP: usize = 84;
/// The width, in pixels, of a character of a monospaced font whose size is 13 pixels.
const CHARACTER: usize = 8;
/// The number of passes over all rows. Each pass sorts the boxes of every row, so that a box comes near the boxes
/// with which arrows connect it.
const SWEEPS: usize = 8;

/// The boxes and arrows of one diagram. Box `i` has the name `boxes[i]` and is in row `row_of[i]`; rows are numbered
/// from the top. An arrow `(from, to)` has the indices of its two boxes.
#[derive(Debug, Default)]
pub struct Diagram {
    pub title: String,
    pub boxes: Vec<String>,
    pub row_of: Vec<usize>,
    pub arrows: BTreeSet<(usize, usize)>,
    /// The boxes that are part of a cycle, which are drawn red.
    pub marked: BTreeSet<usize>,
}

/// The position and the width of a box, in pixels.
struct BoxRect {
    left: usize,
    top: usize,
    width: usize,
}

impl Diagram {
    /// Makes a diagram in which box `i` is in row `row_of[i]`, and no box is marked.
    pub fn in_rows(title: String, boxes: Vec<String>, row_of: Vec<usize>, arrows: BTreeSet<(usize, usize)>) -> Diagram {
        Diagram { title, boxes, row_of, arrows, marked: BTreeSet::new() }
    }

    /// Makes a diagram in which each box is above all boxes that it uses, except in a cycle: the boxes of a cycle
    /// share a row and are marked.
    pub fn by_use(title: String, boxes: Vec<String>, arrows: BTreeSet<(usize, usize)>) -> Diagram {
        let mut drawn: DiGraph<(), ()> = DiGraph::new();
        boxes.iter().for_each(|_| _ = drawn.add_node(()));
        drawn.extend_with_edges(arrows.iter().map(|&(from, to)| (from as u32, to as u32)));
        let mut height_of = vec![0; boxes.len()];
        let mut marked = BTreeSet::new();
        // `tarjan_scc` returns a used box before the boxes that use it.
        for part in tarjan_scc(&drawn) {
            let part: BTreeSet<usize> = part.iter().map(|node| node.index()).collect();
            let below = arrows.iter().filter(|(from, to)| part.contains(from) && !part.contains(to));
            let height = below.map(|&(_, to)| height_of[to] + 1).max().unwrap_or(0);
            part.iter().for_each(|&at| height_of[at] = height);
            if part.len() > 1 {
                marked.extend(part);
            }
        }
        let highest = height_of.iter().copied().max().unwrap_or(0);
        let row_of = height_of.into_iter().map(|height| highest - height).collect();
        Diagram { title, boxes, row_of, arrows, marked }
    }

    /// Returns the arrows that do not go down, as the names of their two boxes.
    pub fn upward_arrows(&self) -> Vec<(&str, &str)> {
        let wrong = self.arrows.iter().filter(|&&(from, to)| !self.goes_down(from, to));
        wrong.map(|&(from, to)| (self.boxes[from].as_str(), self.boxes[to].as_str())).collect()
    }

    fn goes_down(&self, from: usize, to: usize) -> bool {
        self.row_of[from] < self.row_of[to]
    }

    /// Returns the boxes of each row from left to right. A box is placed near the boxes with which arrows connect it.
    fn rows(&self) -> Vec<Vec<usize>> {
        let count = self.row_of.iter().max().map_or(0, |last| last + 1);
        let row = |number| (0..self.boxes.len()).filter(|&at| self.row_of[at] == number).collect();
        let mut rows: Vec<Vec<usize>> = (0..count).map(row).collect();
        for _ in 0..SWEEPS {
            let mut position = vec![0.0; self.boxes.len()];
            for row in &rows {
                for (index, &at) in row.iter().enumerate() {
                    position[at] = (index as f64 + 0.5) / row.len() as f64;
                }
            }
            let middle = |at: usize| {
                let joined = self.arrows.iter().filter(|(from, to)| *from == at || *to == at);
                let others: Vec<f64> = joined.map(|&(from, to)| position[from + to - at]).collect();
                if others.is_empty() { position[at] } else { others.iter().sum::<f64>() / others.len() as f64 }
            };
            rows.iter_mut().for_each(|row| row.sort_by(|&a, &b| middle(a).total_cmp(&middle(b))));
        }
        rows
    }

    fn width_of(&self, at: usize) -> usize {
        self.boxes[at].len() * CHARACTER + GAP
    }

    /// Returns the position of each box, and the width and height of the diagram, whose upper edge is at `top`.
    fn layout(&self, top: usize) -> (Vec<BoxRect>, usize, usize) {
        let rows = self.rows();
        let wide = |row: &Vec<usize>| row.iter().map(|&at| self.width_of(at) + GAP).sum::<usize>() + GAP;
        let width = rows.iter().map(wide).max().unwrap_or(0).max(self.title.len() * CHARACTER + 2 * GAP);
        let mut rects: Vec<BoxRect> = self.boxes.iter().map(|_| BoxRect { left: 0, top: 0, width: 0 }).collect();
        for (number, row) in rows.iter().enumerate() {
            let mut left = GAP + (width - wide(row)) / 2;
            for &at in row {
                rects[at] = BoxRect { left, top: top + 2 * GAP + number * STEP, width: self.width_of(at) };
                left += self.width_of(at) + GAP;
            }
        }
        (rects, width, 2 * GAP + rows.len() * STEP)
    }
}

/// Draws several diagrams, one under the other.
pub fn svg(pictures: &[Diagram]) -> String {
    let mut text = String::new();
    let (mut width, mut top) = (0, 0);
    for picture in pictures {
        let (rects, wide, high) = picture.layout(top);
        let (x, y) = (GAP, top + GAP + 4);
        text += &format!("<text x=\"{x}\" y=\"{y}\" font-weight=\"bold\">{}</text>\n", picture.title);
        picture.arrows.iter().for_each(|&(from, to)| text += &arrow(picture, &rects, from, to));
        (0..picture.boxes.len()).for_each(|at| text += &one_box(picture, &rects[at], at));
        width = width.max(wide);
        top += high;
    }
    format!("{}{text}</svg>\n", head(width, top))
}

fn head(width: usize, height: usize) -> String {
    let size = format!("width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\"");
    let point = |name, colour| {
        let shape = format!("<path d=\"M0,0 L8,3 L0,6 z\" fill=\"{colour}\"/>");
        let size = "markerWidth=\"8\" markerHeight=\"6\" refX=\"8\" refY=\"3\" orient=\"auto\"";
        format!("<marker id=\"{name}\" {size}>{shape}</marker>")
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" {size} font-family=\"monospace\" font-size=\"13\">\n\
         <defs>{}{}</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        point("down", "#888"),
        point("wrong", "#c00")
    )
}

fn arrow(picture: &Diagram, rects: &[BoxRect], from: usize, to: usize) -> String {
    let down = picture.goes_down(from, to);
    let level = picture.row_of[from] == picture.row_of[to];
    let (begin, end) = (&rects[from], &rects[to]);
    let (x1, x2) = (begin.left + begin.width / 2, end.left + end.width / 2);
    // A sideways arrow bows out above its row.
    let (y1, y2, bow) = match (down, level) {
        (true, _) => (begin.top + HEIGHT, end.top, (end.top - begin.top - HEIGHT) as isize / 2),
        (false, true) => (begin.top, end.top, -(HEIGHT as isize)),
        (false, false) => (begin.top, end.top + HEIGHT, -(STEP as isize) / 2),
    };
    let (c1, c2) = (y1 as isize + bow, if level { y2 as isize + bow } else { y2 as isize - bow });
    let (colour, point, thick) = if down { ("#888", "down", "0.8") } else { ("#c00", "wrong", "1.6") };
    let look = format!("stroke=\"{colour}\" stroke-width=\"{thick}\" marker-end=\"url(#{point})\"");
    format!("<path d=\"M{x1},{y1} C{x1},{c1} {x2},{c2} {x2},{y2}\" fill=\"none\" {look}/>\n")
}

fn one_box(picture: &Diagram, rect: &BoxRect, at: usize) -> String {
    let BoxRect { left, top, width } = rect;
    let (edge, fill) = if picture.marked.contains(&at) { ("#c00", "#fdd") } else { ("#333", "#eef3fa") };
    let (x, y) = (left + GAP / 2, top + 16);
    let look = format!("rx=\"4\" fill=\"{fill}\" stroke=\"{edge}\"");
    format!(
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{HEIGHT}\" {look}/>\
         <text x=\"{x}\" y=\"{y}\">{}</text>\n",
        picture.boxes[at]
    )
}

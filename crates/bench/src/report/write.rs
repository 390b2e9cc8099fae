//! Writes all files of a report into a folder: report.json, report.csv, each graph as SVG and as PNG, report.html.
//!
//! It must not delete what else lies in the folder. Before it: `csv`, `chart`, `page`; after it: `whole`, which writes, and `command`.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::record::Record;
use crate::whole::{self, text};

use super::{chart, csv, graph, page};

/// What a whole PNG ends with: the chunk IEND, empty, and its checksum.
const PNG_END: [u8; 12] = *b"\0\0\0\0IEND\xAE\x42\x60\x82";

/// The paths of the files; on an error, which names its file, those written before it stay.
pub fn write_all(record: &Record, dir: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(dir).map_err(|error| named("cannot make the folder", dir, &error))?;
    let mut json = serde_json::to_string_pretty(record)?;
    json.push('\n');
    let mut paths = vec![put(dir, "report.json", |path| text(path, &json))?];
    paths.push(put(dir, "report.csv", |path| text(path, &csv::text(record)?))?);
    let mut drawn = Vec::new();
    for graph in graph::all(record) {
        let drawing = chart::svg(&graph)?;
        paths.push(put(dir, &format!("{}.svg", graph.name), |path| text(path, &drawing))?);
        paths.push(put(dir, &format!("{}.png", graph.name), |path| {
            chart::png(&graph, path)?;
            check_png(path)
        })?);
        drawn.push((graph, drawing));
    }
    paths.push(put(dir, "report.html", |path| text(path, &page::text(record, &drawn)))?);
    Ok(paths)
}

/// A file of the folder, and its path.
fn put(dir: &Path, name: &str, fill: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<PathBuf> {
    let path = dir.join(name);
    whole::put(&path, fill).map_err(|error| named("cannot write", &path, &error))?;
    Ok(path)
}

/// The bitmap's writer does not tell when the last part of a file found no room on the disk.
fn check_png(path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut end = [0; PNG_END.len()];
    file.seek(SeekFrom::End(-(PNG_END.len() as i64)))?;
    file.read_exact(&mut end)?;
    if end == PNG_END { Ok(()) } else { Err(io::Error::other("only part of it could be written; is the disk full?")) }
}

fn named(doing: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{doing} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn all_files_are_written_and_nothing_else() {
        let dir = example::scratch();
        let out = dir.path().join("new/out");
        let record = example::record(&["tcp", "hawser"]);
        let paths = write_all(&record, &out).unwrap();
        let mut written: Vec<&str> = paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        written.sort_unstable();
        assert_eq!(names(&out), written);
        let graphs = ["latency", "signature", "throughput"].map(|kind| format!("pingpong-{kind}"));
        let mut want = vec!["report.csv".to_owned(), "report.html".to_owned(), "report.json".to_owned()];
        want.extend(graphs.iter().flat_map(|name| [format!("{name}.png"), format!("{name}.svg")]));
        want.sort();
        assert_eq!(written, want);
        assert_eq!(super::super::read::read(&out.join("report.json")).unwrap().curves.len(), 2);
        // Once more, over what is there.
        assert_eq!(write_all(&record, &out).unwrap(), paths);
    }

    #[test]
    fn errors_name_the_file_and_leave_nothing_half() {
        let dir = example::scratch();
        let full = put(dir.path(), "report.csv", |_| text(Path::new("/dev/full"), "much")).unwrap_err().to_string();
        let want = format!("cannot write {}/report.csv: No space left on device (os error 28)", dir.path().display());
        assert_eq!(full, want);
        fs::create_dir(dir.path().join("report.json")).unwrap();
        let taken = write_all(&example::record(&["hawser"]), dir.path()).unwrap_err().to_string();
        assert!(taken.contains("cannot write") && taken.contains("report.json: Is a directory"), "{taken}");
        assert_eq!(names(dir.path()), ["report.json"]);
        let no_folder = write_all(&example::record(&["hawser"]), Path::new("/dev/null/out")).unwrap_err().to_string();
        assert!(no_folder.starts_with("cannot make the folder /dev/null/out: "), "{no_folder}");
    }

    #[test]
    fn part_of_a_png_is_noticed() {
        let dir = example::scratch();
        let path = dir.path().join("graph.png");
        chart::png(&graph::all(&example::record(&["hawser"]))[0], &path).unwrap();
        check_png(&path).unwrap();
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 100]).unwrap();
        assert!(check_png(&path).is_err());
    }
}

//! Writes all files of a report into a folder: report.json, report.csv, each graph as SVG and as PNG, report.html.
//!
//! It must not delete other files in the folder. Used by `command`; uses `csv`, `chart`, `page`, and `atomic_file`,
//! which writes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::atomic_file;
use crate::record::BenchmarkRecord;

use super::{chart, csv, graph, page};

/// Writes the files and returns their paths. On an error, which names its file, the files that were written before
/// stay.
pub fn write_all(record: &BenchmarkRecord, dir: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(dir).map_err(|error| named_error("cannot make the folder", dir, &error))?;
    let mut json = serde_json::to_string_pretty(record)?;
    json.push('\n');
    let mut paths = vec![write_file(dir, "report.json", json)?];
    paths.push(write_file(dir, "report.csv", csv::text(record)?)?);
    let mut drawn = Vec::new();
    for graph in graph::all(record) {
        let drawing = chart::svg(&graph)?;
        paths.push(write_file(dir, &format!("{}.svg", graph.name), &drawing)?);
        let bitmap = chart::png(&graph)?;
        paths.push(write_file(dir, &format!("{}.png", graph.name), bitmap)?);
        drawn.push((graph, drawing));
    }
    paths.push(write_file(dir, "report.html", page::text(record, &drawn))?);
    Ok(paths)
}

/// Writes a file of the folder. Returns its path.
fn write_file(dir: &Path, name: &str, content: impl AsRef<[u8]>) -> io::Result<PathBuf> {
    let path = dir.join(name);
    atomic_file::write_atomically(&path, content).map_err(|error| named_error("cannot write", &path, &error))?;
    Ok(path)
}

fn named_error(doing: &str, path: &Path, error: &io::Error) -> io::Error {
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
        let dir = tempfile::tempdir().unwrap();
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
        // Write again, over the existing files.
        assert_eq!(write_all(&record, &out).unwrap(), paths);
    }

    #[test]
    fn errors_name_the_file_and_leave_nothing_half() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", dir.path().join("report.csv")).unwrap();
        let full = write_file(dir.path(), "report.csv", "much").unwrap_err().to_string();
        fs::remove_file(dir.path().join("report.csv")).unwrap();
        let want = format!("cannot write {}/report.csv: No space left on device (os error 28)", dir.path().display());
        assert_eq!(full, want);
        fs::create_dir(dir.path().join("report.json")).unwrap();
        let taken = write_all(&example::record(&["hawser"]), dir.path()).unwrap_err().to_string();
        assert!(taken.contains("cannot write") && taken.contains("report.json: Is a directory"), "{taken}");
        assert_eq!(names(dir.path()), ["report.json"]);
        let no_folder = write_all(&example::record(&["hawser"]), Path::new("/dev/null/out")).unwrap_err().to_string();
        assert!(no_folder.starts_with("cannot make the folder /dev/null/out: "), "{no_folder}");
    }
}

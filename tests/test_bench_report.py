"""hawser-bench report: the files it writes, and its page in a real browser (Chromium), where every curve must be seen."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import sync_playwright

SAMPLES = Path(__file__).parent.parent / "crates/bench/src/import/samples"
POINT_TO_POINT = ["throughput", "signature", "latency", "ratio"]
RAW = {"memcpy": 14000.0, "tcp": 900.0}  # MB/s
LIBRARIES = {"hawser": 9000.0, "mpich": 6000.0, "openmpi": 4000.0}
# Of a curve's own colour, in its graph at 1600 by 1000; one marker alone has more.
LEAST_PIXELS = 60
INSPECT = """svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('g[data-curve]')].map(group => {
    const box = group.getBoundingClientRect();
    const shapes = [...group.children].map(shape => {
      const style = getComputedStyle(shape);
      const seen = style.opacity > 0 && style.visibility === 'visible' && style.display !== 'none';
      return {tag: shape.tagName, seen, stroke: style.stroke, fill: style.fill, width: parseFloat(style.strokeWidth)};
    });
    return {system: group.dataset.curve, points: Number(group.dataset.points), shapes,
            x: box.x - frame.x, y: box.y - frame.y, width: box.width, height: box.height,
            inside: box.left >= frame.left && box.right <= frame.right && box.top >= frame.top
                    && box.bottom <= frame.bottom};
  });
}"""


def point(size, us, **more):
    return {"bytes": size, "min_us": us * 0.9, "median_us": us, "spread": 0.05, "cpu_us": 2 * us, "hidden": None,
            "count": 100, "rounds": 9, "noisy": False} | more


def curve(system, pattern, mbyte_s, sizes, ranks=2, **more):
    """No two systems have the same figures, so that no curve hides another."""
    start_us = 3000 / mbyte_s
    points = [point(size, start_us + size / mbyte_s, noisy=size == 4096, **more) for size in sizes]
    return {"system": system, "floor": "raw" if system in RAW else "library", "version": "1.0", "pattern": pattern,
            "ranks": ranks, "points": points}


def record():
    sizes = [0] + [2**power for power in range(0, 23)]
    curves = []
    for pattern in ("pingpong", "stream", "bidirectional"):
        curves += [curve(system, pattern, speed, sizes) for system, speed in (RAW | LIBRARIES).items()]
    for system, speed in LIBRARIES.items():
        curves.append(curve(system, "rate", speed, sizes[1:16]))
        curves.append(curve(system, "overlap", speed, sizes[10:], hidden=speed / 10000))
        curves.append(curve(system, "barrier", speed, [0], ranks=4))
        curves += [curve(system, "bcast", speed, sizes, ranks) for ranks in (4, 16)]
    machine = {"host": "box", "processor": "Some CPU", "cores": 2, "memory_bytes": 2**34, "kernel": "Linux",
               "between": "this machine's memory"}
    return {"format": 1, "command": "hawser-bench run", "date": "2026-11-24T11:00:00Z", "machine": machine,
            "complete": True, "notes": [], "curves": curves}


def expected(of):
    """Which systems lie on which graph, by the record alone."""
    graphs = {}
    for one in of["curves"]:
        kinds = {"rate": ["rate"], "overlap": ["hidden"], "barrier": ["latency"], "bcast": ["latency"]}
        name = f"bcast-{one['ranks']}" if one["pattern"] == "bcast" else one["pattern"]
        for kind in kinds.get(one["pattern"], POINT_TO_POINT):
            if kind != "ratio" or one["floor"] == "library":
                graphs.setdefault(f"{name}-{kind}", set()).add(one["system"])
    return graphs


@pytest.fixture
def report(session, tmp_path):
    """report(record, ...): the folder of the report on these records, and what the command printed."""

    def report(*records):
        files = [tmp_path / f"run-{i}.json" for i in range(len(records))]
        for file, one in zip(files, records):
            file.write_text(one if isinstance(one, str) else json.dumps(one))
        out = tmp_path / "report"
        return out, session.call([session.prefix / "bin/hawser-bench", "report", *files, "--out", out])

    return report


@pytest.fixture
def browser():
    program = shutil.which("chromium")
    assert program, "there is no chromium: scripts/setup.sh installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def colour(shape):
    """What a line or marker is drawn with: red, green, blue. None: with nothing, or with the inside of an open marker."""
    for paint in (shape["stroke"], shape["fill"]):
        found = re.fullmatch(r"rgb\((\d+), (\d+), (\d+)\)", paint)
        if found and found[0] != "rgb(255, 255, 255)":
            return tuple(int(part) for part in found.groups())
    return None


def pixels(image, found, of):
    """How many pixels of this colour there are where the curve lies."""
    box = (found["x"], found["y"], found["x"] + found["width"], found["y"] + found["height"])
    left, top, right, bottom = (round(side) for side in box)
    part = image.crop((left - 8, top - 8, right + 8, bottom + 8))
    return sum(count for count, seen in part.getcolors(part.width * part.height) if seen == of)


def shot(figure):
    return Image.open(io.BytesIO(figure.screenshot())).convert("RGB")


def check_curve(graph, found, image):
    where = f"{graph}: {found['system']}"
    assert found["inside"] and found["width"] > 5 and found["height"] > 5, f"{where} {found}"
    assert all(shape["seen"] for shape in found["shapes"]), f"{where} has transparent parts"
    colours = {colour(shape) for shape in found["shapes"]} - {None}
    assert len(colours) == 1, f"{where} has colours {colours}"
    lines = [shape for shape in found["shapes"] if shape["tag"] in ("polyline", "line", "polygon")]
    assert bool(lines) == (found["points"] > 1), where
    assert all(shape["stroke"] != "none" and shape["width"] >= 2 for shape in lines), where
    count = pixels(image, found, *colours)
    assert count > LEAST_PIXELS, f"{where}: {count} pixels of {colours} are seen"


def test_every_curve_of_the_page_is_seen_in_a_browser(report, browser):
    of = record()
    out, result = report(of)
    assert result.code == 0 and result.err == "", result
    page = browser.new_page(viewport={"width": 1700, "height": 1200})
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((out / "report.html").as_uri())
    # Each graph as large as it was drawn, so that pixels can be counted.
    page.add_style_tag(content=".graphs { display: block !important } .graphs svg { width: 1600px !important }")
    graphs = expected(of)
    shown = {figure.get_attribute("data-graph") for figure in page.query_selector_all("figure[data-graph]")}
    assert shown == set(graphs)
    for graph, systems in graphs.items():
        drawing = page.query_selector(f"figure[data-graph='{graph}'] svg")
        drawing.scroll_into_view_if_needed()
        curves = drawing.evaluate(INSPECT)
        assert sorted(found["system"] for found in curves) == sorted(systems), graph
        image = shot(drawing)
        for found in curves:
            check_curve(graph, found, image)
    assert asked == [(out / "report.html").as_uri()], "the page needs nothing else"
    assert complaints == []


def test_a_curve_that_is_not_drawn_is_noticed(report, browser):
    """The check above sees what it says it sees."""
    out, _ = report(record())
    page = browser.new_page(viewport={"width": 1700, "height": 1200})
    page.goto((out / "report.html").as_uri())
    page.add_style_tag(content=".graphs { display: block !important } .graphs svg { width: 1600px !important }")
    drawing = page.query_selector("figure[data-graph='pingpong-throughput'] svg")
    before = {found["system"]: found for found in drawing.evaluate(INSPECT)}["mpich"]
    check_curve("pingpong-throughput", before, shot(drawing))
    drawing.evaluate("svg => svg.querySelector('g[data-curve=mpich]').style.display = 'none'")
    assert pixels(shot(drawing), before, colour(before["shapes"][0])) == 0
    after = {found["system"]: found for found in drawing.evaluate(INSPECT)}["mpich"]
    with pytest.raises(AssertionError):
        check_curve("pingpong-throughput", after, shot(drawing))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_a_phone(report, browser, scheme):
    out, _ = report(record() | {"complete": False, "notes": ["x" * 200]})
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.goto((out / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, "wide parts scroll by themselves"
    assert page.get_by_text("The run is not complete").is_visible()
    paper, ink = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    assert paper != ink


def test_images_tables_and_data_are_beside_the_page(report):
    of = record()
    out, result = report(of)
    graphs = expected(of)
    want = {"report.html", "report.csv", "report.json"} | {f"{name}.{kind}" for name in graphs for kind in ("svg", "png")}
    assert {path.name for path in out.iterdir()} == want
    for name in graphs:
        with Image.open(out / f"{name}.png") as image:
            assert image.size == (1600, 1000)
            image.load()
    assert json.loads((out / "report.json").read_text()) == of
    lines = (out / "report.csv").read_text().splitlines()
    assert {"# processor: Some CPU", "# cores: 2", "# memory: 16.0 GiB"} < set(lines)
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert len(rows) == sum(len(one["points"]) for one in of["curves"])
    first = of["curves"][0]["points"][0]
    assert float(rows[0]["median_us"]) == first["median_us"] and rows[0]["system"] == "memcpy"
    assert "pingpong, 2 ranks: median time, us" in result.out and "hawser/best other" in result.out
    for name in want:
        assert f"wrote {out / name}\n" in result.out


def test_several_files_make_one_report(report):
    first, second = record(), record()
    first["curves"] = [one for one in first["curves"] if one["system"] != "mpich"]
    second["curves"] = [one for one in second["curves"] if one["system"] == "mpich"]
    second["machine"]["host"] = "other"
    out, result = report(first, second)
    assert result.code == 0 and "measured under other conditions: host other, not box" in result.out, result
    systems = {one["system"] for one in json.loads((out / "report.json").read_text())["curves"]}
    assert systems == set(RAW) | set(LIBRARIES)


def test_refusals_are_one_line(report, session, tmp_path):
    bench = session.prefix / "bin/hawser-bench"
    for records, cause in [
        ([record(), record()], "memcpy has pingpong (2 ranks) in"),
        ([record() | {"format": 7}], "has format 7, this hawser-bench reads 1"),
        (["{"], "is not JSON"),
        ([record() | {"curves": []}], "cannot be used: it has no curve"),
    ]:
        out, result = report(*records)
        assert result.code == 1 and result.out == "" and not out.exists(), result
        assert result.err.startswith("hawser-bench: report: ") and cause in result.err, result
        assert result.err.count("\n") == 1, result
    (tmp_path / "run-0.json").write_text(json.dumps(record()))
    taken = session.call([bench, "report", tmp_path / "run-0.json", "--out", "/dev/null/out"])
    assert taken.code == 1 and "cannot make the folder /dev/null/out" in taken.err, taken
    missing = session.call([bench, "report", tmp_path / "none.json", "--out", tmp_path / "out"])
    assert missing.code == 1 and "none.json: No such file or directory" in missing.err, missing
    assert session.call([bench, "report", tmp_path / "run-0.json"]).code == 2
    assert session.call([bench, "report", "--out", tmp_path / "out"]).code == 2


def test_a_file_beyond_the_limit_is_one_line_and_no_death(session, tmp_path):
    """RLIMIT_FSIZE: 2 blocks of 512 or 1024 bytes."""
    (tmp_path / "run.json").write_text(json.dumps(record()))
    limited = ["sh", "-c", 'ulimit -f 2; exec "$@"', "sh", session.prefix / "bin/hawser-bench"]
    result = session.call([*limited, "report", tmp_path / "run.json", "--out", tmp_path / "out"])
    assert result.code == 1 and "File too large" in result.err and result.err.count("\n") == 1, result
    assert "median time, us" in result.out and list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("sample", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_what_other_tools_wrote_is_imported_and_drawn(session, tmp_path, sample):
    bench, record, out = session.prefix / "bin/hawser-bench", tmp_path / "record.json", tmp_path / "report"
    imported = session.call([bench, "import", sample, "--name", "theirs", "--out", record])
    assert imported.code == 0 and imported.err == "", imported
    result = session.call([bench, "report", record, "--out", out])
    assert result.code == 0 and result.err == "", result
    page = (out / "report.html").read_text()
    assert "imported ones are the averages of their tool" in page and "<dt>host" not in page
    for one in json.loads(record.read_text())["curves"]:
        drawn = [path.read_text() for path in out.glob("*.svg") if path.name.startswith(one["pattern"].replace("_", "-"))]
        points = len(one["points"])
        assert any(f'data-curve="theirs" data-points="{points}"' in svg for svg in drawn), (one["pattern"], one["ranks"])


def test_a_second_curve_of_the_same_is_refused_when_it_is_imported(session, tmp_path):
    bench, samples = session.prefix / "bin/hawser-bench", ["osu-format-latency.txt", "imb-2021.11-p2p.txt"]
    files, out = [SAMPLES / sample for sample in samples], tmp_path / "record.json"
    result = session.call([bench, "import", *files, "--name", "theirs", "--out", out])
    assert result.code == 1 and not out.exists(), result
    assert f"{files[1]}: PingPong gives the same curve, pingpong (2 ranks) of theirs" in result.err, result
    assert f"as latency of {files[0]};" in result.err and result.err.count("\n") == 1, result


def test_names_of_others_cannot_colour_a_terminal(report):
    of = record()
    of["curves"][0]["system"] = "\x1b[31mred\r"
    of["notes"] = ["\x1b]0;title\x07"]
    out, result = report(of)
    assert result.code == 0 and "\x1b" not in result.out and "\ufffd[31mred\ufffd" in result.out, result
    assert not any(b"\x1b" in path.read_bytes() for path in out.iterdir() if path.suffix != ".png")


@pytest.fixture
def full_disk(tmp_path):
    """A folder on a disk of its own that has room for the first files of a report, not for all."""
    if os.geteuid() != 0:
        pytest.skip("a full disk is a small tmpfs, and to mount it one must be root")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk], check=True)
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk_is_told_in_a_line_and_leaves_nothing_half(session, tmp_path, full_disk):
    bench, run = session.prefix / "bin/hawser-bench", tmp_path / "run.json"
    run.write_text(json.dumps(record()))
    out = full_disk / "report"
    result = session.call([bench, "report", run, "--out", out])
    assert result.code == 1 and "median time, us" in result.out and "wrote" not in result.out, result
    assert result.err.startswith(f"hawser-bench: report: cannot write {out}/"), result
    assert "No space left on device" in result.err and result.err.count("\n") == 1, result
    written = {path.name: path for path in out.iterdir()}
    assert written and not any(name.startswith(".") for name in written), written
    assert json.loads(written["report.json"].read_text()) == record()
    for name, path in written.items():
        if path.suffix == ".svg":
            assert path.read_text().rstrip().endswith("</svg>"), name
        elif path.suffix == ".png":
            with Image.open(path) as image:
                image.load()
    left = os.statvfs(full_disk).f_bavail * os.statvfs(full_disk).f_frsize
    (full_disk / "filler").write_bytes(b"x" * left)
    sample, record_file = SAMPLES / "imb-2021.11-mpi1-2.txt", full_disk / "record.json"
    before = set(full_disk.iterdir())
    result = session.call([bench, "import", sample, "--out", record_file])
    assert result.code == 1 and result.err.count("\n") == 1, result
    assert f"{record_file}: cannot be written: No space left on device" in result.err, result
    assert set(full_disk.iterdir()) == before


def test_output_that_is_no_file_is_written_into(session, tmp_path):
    bench, sample = session.prefix / "bin/hawser-bench", SAMPLES / "imb-2021.11-p2p.txt"
    piped = session.call([bench, "import", sample, "--out", "/dev/stdout"])
    assert piped.code == 0 and json.loads(piped.out)["format"] == 1, piped
    (tmp_path / "link.json").symlink_to("there.json")
    assert session.call([bench, "import", sample, "--out", tmp_path / "link.json"]).code == 0
    assert (tmp_path / "link.json").is_symlink() and (tmp_path / "there.json").read_text() == piped.out
    with open("/dev/full", "w") as full:
        said = subprocess.run([bench, "import", sample], stdout=full, stderr=subprocess.PIPE, text=True)
    assert said.returncode == 1, said
    assert said.stderr.startswith("hawser-bench: import: standard output cannot be written: No space left"), said
    assert said.stderr.count("\n") == 1, said


def test_a_run_whose_command_is_no_utf8_is_kept_as_it_was_typed(session, tmp_path):
    out = tmp_path / os.fsdecode(b"a\xff b")
    options = ["--layers", "memcpy", "--max", "1", "--ms", "1", "--rounds", "1"]
    result = session.call([session.prefix / "bin/hawser-bench", "run", *options, "--out", out])
    assert result.code == 0, result
    command = json.loads((out / "report.json").read_text())["command"]
    assert command.endswith(f" --rounds 1 --out '{tmp_path}/a\ufffd b'"), command


def test_a_lone_graph_does_not_fill_the_page_and_its_captions_have_one_line(report, browser):
    of = record()
    of["curves"] = [one for one in of["curves"] if one["pattern"] == "barrier"]
    out, _ = report(of)
    page = browser.new_page(viewport={"width": 1700, "height": 1200})
    page.goto((out / "report.html").as_uri())
    body, graph = (page.query_selector(part).bounding_box() for part in ("body", "figure[data-graph]"))
    assert graph["width"] < 0.6 * body["width"], (graph, body)
    caption, row = (page.query_selector(part).bounding_box() for part in ("caption", "thead tr"))
    assert caption["height"] < 1.5 * row["height"], (caption, row)

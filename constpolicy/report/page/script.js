"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");
const SHOWN = 200;
const GROUPS = { "source constants": "source", "evaluated results": "result", "code and the rest": "code" };

/* Elements. Text is always set as text, so that nothing in a model's names is ever markup. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

function section(title, ...children) {
  const id = "section-" + title.toLowerCase().replace(/[^a-z]+/g, "-");
  const made = make("section", { "aria-labelledby": id }, make("h2", { id }, title), ...children);
  main.append(made);
  return made;
}

function size(bytes, signed = false) {
  const sign = bytes < 0 ? "-" : signed && bytes > 0 ? "+" : "";
  let value = Math.abs(bytes);
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (value < 1024 || unit === "GiB") return `${sign}${value < 100 ? Number(value.toPrecision(3)) : Math.round(value)} ${unit}`;
    value /= 1024;
  }
}

function figure(value, text, kind = null) {
  return make("li", {}, make("b", { class: kind }, value), make("span", {}, text));
}

/* A table that sorts by its headings, and shows so many rows at a time. */
function table(caption, columns, rows, initial) {
  const body = make("tbody");
  const more = make("button", { class: "more", type: "button", on: { click: () => draw(shown + SHOWN) } });
  let sorted = initial, descending = true, current = rows, shown = SHOWN;
  const headings = columns.map((column) =>
    make("th", { scope: "col", class: kindOf(column) },
      make("button", { type: "button", on: { click: () => sort(column) } }, column.title)));
  function kindOf(column) {
    return column.number ? "number" : column.short ? "short" : null;
  }
  function sort(column) {
    descending = column === sorted ? !descending : Boolean(column.number);
    sorted = column;
    draw(SHOWN);
  }
  function compare(left, right) {
    const [a, b] = [sorted.value(left), sorted.value(right)];
    const order = typeof a === "number" ? a - b : String(a).localeCompare(String(b));
    return descending ? -order : order;
  }
  function draw(count) {
    shown = count;
    headings.forEach((heading, index) => {
      const order = columns[index] !== sorted ? "none" : descending ? "descending" : "ascending";
      heading.setAttribute("aria-sort", order);
    });
    const ordered = [...current].sort(compare);
    body.replaceChildren(...ordered.slice(0, shown).map((row) =>
      make("tr", {}, ...columns.map((column) =>
        make("td", { class: kindOf(column), "data-label": column.title },
          make("span", {}, ...[column.cell ? column.cell(row) : column.value(row)].flat()))))));
    more.hidden = ordered.length <= shown;
    more.textContent = `Show more (${ordered.length - shown} left)`;
  }
  draw(SHOWN);
  const element = make("div", { class: "scroll" },
    make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...headings)), body), more);
  return { element, show: (wanted) => { current = wanted; draw(SHOWN); } };
}

/* Squarified treemap: rows of rectangles along the shorter side, as near to squares as they come. */
function squarify(items, x, y, width, height) {
  const placed = [];
  let rest = items.filter((item) => item.bytes > 0);
  let total = rest.reduce((sum, item) => sum + item.bytes, 0);
  while (rest.length) {
    const short = Math.min(width, height), area = (width * height) / total;
    let row = [], sum = 0, worst = Infinity;
    for (const item of rest) {
      const next = sum + item.bytes, side = (next * area) / short;
      const ratios = [...row, item].map((one) => { const r = ((one.bytes * area) / side) / side; return Math.max(r, 1 / r); });
      if (Math.max(...ratios) > worst) break;
      worst = Math.max(...ratios); row.push(item); sum = next;
    }
    const side = (sum * area) / short;
    let offset = 0;
    for (const item of row) {
      const length = (item.bytes * area) / side;
      placed.push(width >= height
        ? { item, x, y: y + offset, width: side, height: length }
        : { item, x: x + offset, y, width: length, height: side });
      offset += length;
    }
    if (width >= height) { x += side; width -= side; } else { y += side; height -= side; }
    rest = rest.slice(row.length);
    total -= sum;
  }
  return placed;
}

function treemap(parts) {
  const map = make("div", { class: "map", role: "group", "aria-label": "The bytes of the file, as areas" });
  const where = make("p", { "aria-live": "polite" });
  const back = make("button", { type: "button", class: "more", on: { click: () => show(null) } }, "Whole file");
  function show(group) {
    const wanted = group ? parts.filter((part) => part.group === group) : parts;
    const least = wanted.reduce((sum, part) => sum + part.bytes, 0) / 2000;
    const small = wanted.filter((part) => part.bytes < least);
    const items = wanted.filter((part) => part.bytes >= least);
    for (const name of Object.keys(GROUPS)) {
      const bytes = small.filter((part) => part.group === name).reduce((sum, part) => sum + part.bytes, 0);
      if (bytes) items.push({ group: name, name: "smaller ones", bytes });
    }
    items.sort((a, b) => b.bytes - a.bytes);
    const buttons = squarify(items, 0, 0, 100 * 2.4, 100).map(({ item, x, y, width, height }) => {
      const label = `${item.name}, ${size(item.bytes)}`;
      const button = make("button", { type: "button", class: GROUPS[item.group], title: `${label} (${item.group})`,
        on: { click: () => show(group ? null : item.group) } }, label);
      const style = button.style;
      [style.left, style.top, style.width, style.height] = [x / 2.4, y, width / 2.4, height].map((part) => part + "%");
      return button;
    });
    map.replaceChildren(...buttons);
    back.hidden = !group;
    const bytes = wanted.reduce((sum, part) => sum + part.bytes, 0);
    where.textContent = group ? `${group}: ${size(bytes)}` : `whole file: ${size(bytes)}; choose an area for its group`;
    if (group) back.focus();
  }
  show(null);
  const legend = make("p", { class: "legend" }, ...Object.entries(GROUPS).map(([name, kind]) =>
    make("span", {}, make("i", { class: kind }), name)));
  const columns = [
    { title: "part", value: (part) => part.name },
    { title: "group", value: (part) => part.group },
    { title: "bytes", number: true, value: (part) => part.bytes, cell: (part) => size(part.bytes) },
  ];
  const list = make("details", {}, make("summary", {}, "The same as a table"),
    table("What the file holds", columns, parts, columns[2]).element);
  section("What the file holds", legend, where, map, back, list);
}

function functions(all) {
  const columns = [
    { title: "function", value: (f) => f.name },
    { title: "dispatches", number: true, value: (f) => f.dispatches },
    { title: "bytecode", number: true, value: (f) => f.bytes, cell: (f) => size(f.bytes) },
  ];
  section("Functions", table("The dispatches that stand in each; those in a loop count once", columns, all, columns[1]).element);
}

function details(candidate) {
  const pairs = [
    ["symbol", candidate.symbol], ["type", candidate.type], ["contains", candidate.contains.join(", ")],
    ["read by", candidate.functions.join(", ") || "initializers only"],
    ...candidate.sources.map((source) => ["source",
      `${source.name}: ${source.type}, ${size(source.bytes)}` +
      (source.readers.length ? `, also read by ${source.readers.join(", ")}` : "")]),
    ...candidate.names.map((name) => ["named", name]),
    ["work", size(candidate.work_bytes)], ["phase", candidate.phase], ["decided by", candidate.decided_by],
    ...Object.entries(candidate.refusals).map(([action, why]) => [`no ${action}`, why]),
    ...candidate.warnings.map((text) => ["warning", text]),
  ];
  const list = make("dl", {}, ...pairs.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
  return make("details", {}, make("summary", {}, candidate.id), list);
}

function candidates(all) {
  const source = (c) => c.sources.map((one) => one.name).join(", ") || "nothing";
  const columns = [
    { title: "candidate", value: (c) => c.id, cell: details },
    { title: "kind", short: true, value: (c) => c.kind },
    { title: "source", value: source },
    { title: "result", number: true, value: (c) => c.result_bytes, cell: (c) => size(c.result_bytes) },
    { title: "growth", number: true, value: (c) => c.growth_bytes, cell: (c) => size(c.growth_bytes, true) },
    { title: "action", short: true, value: (c) => c.outcome || c.action },
    { title: "why", value: (c) => c.reason },
    { title: "where", value: (c) => c.location || "" },
  ];
  const shown = table("What is decided about each, and why", columns, all, columns[3]);
  const search = make("input", { type: "search", id: "search", on: { input: filter } });
  const actions = [...new Set(all.map((c) => c.outcome || c.action))].sort();
  const action = make("select", { id: "action", on: { change: filter } },
    make("option", { value: "" }, "all"), ...actions.map((name) => make("option", { value: name }, name)));
  const count = make("p", { "aria-live": "polite", class: "quiet" });
  const texts = new Map(all.map((c) => [c,
    [c.id, c.kind, source(c), c.type, c.reason, c.location, c.symbol, c.decided_by].join(" ").toLowerCase()]));
  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = all.filter((c) => words.every((word) => texts.get(c).includes(word)) &&
      (!action.value || (c.outcome || c.action) === action.value));
    shown.show(wanted);
    count.textContent = `${wanted.length} of ${all.length} candidates`;
  }
  filter();
  section("Candidates and decisions",
    make("div", { class: "bar" }, make("label", {}, "Search", search), make("label", {}, "Action", action)),
    count, shown.element);
}

function listed(title, texts, kind = null) {
  if (texts.length) section(title, make("ul", {}, ...texts.map((text) => make("li", { class: kind }, text))));
}

function verification(checked) {
  const verdict = checked.passed ? "The numbers agree" : "The numbers differ";
  const rows = checked.functions.flatMap((one) => one.outputs.map((output) => ({ name: one.function, output })));
  const columns = [
    { title: "function", value: (row) => row.name },
    { title: "output", value: (row) => row.output.name },
    { title: "type", value: (row) => row.output.type },
    { title: "result", value: (row) => row.output.text,
      cell: (row) => make("span", { class: row.output.passed ? "good" : "bad" }, row.output.text) },
  ];
  const failures = checked.functions.flatMap((one) => (one.failure ? [one.failure.text] : []));
  if (checked.failure) failures.push(checked.failure.text);
  const made = section("Verification", make("p", { class: checked.passed ? "good" : "bad" }, verdict),
    make("p", {}, `Standard: ${checked.reason}`), ...failures.map((text) => make("p", { class: "bad" }, text)));
  if (rows.length) made.append(table(`against ${checked.reference}`, columns, rows, columns[3]).element);
  const tensors = checked.tensors ? checked.tensors.tensors : [];
  if (tensors.length) {
    const wrong = tensors.filter((tensor) => !tensor.passed);
    const exact = tensors.filter((tensor) => tensor.bit_exact).length;
    made.append(make("p", {}, `${exact} of ${tensors.length} evaluated results are bit-exact`));
    made.append(make("ul", {}, ...wrong.map((tensor) =>
      make("li", { class: "bad" }, `${tensor.candidate} (${tensor.kind}): ${tensor.text || tensor.failure}`))));
  }
}

function showReport(report, parts) {
  const totals = report.totals;
  document.title = `${report.input.split("/").pop()} under ${report.policy.name}`;
  document.getElementById("title").textContent = document.title;
  document.getElementById("subtitle").textContent =
    `${report.input}; policy ${report.policy.origin}; constpolicy ${report.versions.constpolicy}, IREE ${report.versions.iree_compiler}`;
  const growth = totals.predicted_growth_bytes, upstream = totals.upstream_growth_bytes;
  main.append(make("ul", { class: "figures", "aria-label": "The most important numbers" },
    totals.file_bytes === null ? null : figure(size(totals.file_bytes), "the finished file"),
    figure(size(totals.constant_bytes + growth), "constants, as predicted"),
    figure(size(growth, true), "growth of the constants by evaluating", growth > 0 ? "warn" : "good"),
    upstream === null || upstream === undefined ? null
      : figure(size(growth - upstream, true), `against iree-compile, which grows them by ${size(upstream, true)}`,
        growth > upstream ? "bad" : "good"),
    figure(String(totals.candidates), `candidates: ${Object.entries(totals.actions).map(([a, n]) => `${n} ${a}`).join(", ") || "none"}`)));
  if (report.policy.content.description) main.append(make("p", { class: "quiet" }, report.policy.content.description));
  listed("Warnings", [...report.fallbacks, ...report.warnings], "warn");
  if (parts.length) treemap(parts);
  if (report.file && report.file.functions.length) functions(report.file.functions);
  candidates(report.candidates);
  if (report.verification) verification(report.verification);
  listed("Budgets", report.budgets);
  const seconds = Object.entries(report.timing.phases).map(([name, s]) => ({ name, s }));
  const columns = [
    { title: "phase", value: (row) => row.name },
    { title: "seconds", number: true, value: (row) => row.s, cell: (row) => row.s.toFixed(2) },
  ];
  if (seconds.length) section("Time", table("Compile time by phase", columns, seconds, columns[1]).element);
  section("Flags", make("p", {}, make("code", {}, report.flags.join(" ") || "none")));
}

function showDifference(difference) {
  document.title = `${difference.before} → ${difference.after}`;
  document.getElementById("title").textContent = "What changed";
  document.getElementById("subtitle").textContent = document.title;
  main.append(make("ul", { class: "figures" },
    difference.file_bytes === null ? null
      : figure(size(difference.file_bytes, true), "the file", difference.file_bytes > 0 ? "bad" : "good"),
    figure(size(difference.constant_bytes, true), "constants of the program"),
    figure(size(difference.growth_bytes, true), "predicted growth"),
    figure(String(difference.candidates.length), "candidates decided otherwise")));
  const columns = [
    { title: "bytes", number: true, value: (c) => Math.abs(c.bytes), cell: (c) => size(c.bytes, true) },
    { title: "candidate", value: (c) => c.id },
    { title: "before", value: (c) => c.before || "absent" },
    { title: "after", value: (c) => c.after || "gone" },
    { title: "what", value: (c) => `${c.kind} of ${c.source} to ${c.type}` },
    { title: "where", value: (c) => c.location || "" },
  ];
  section("Candidates", table("The largest change first", columns, difference.candidates, columns[0]).element);
}

if (data.report) showReport(data.report, data.parts);
else showDifference(data.difference);

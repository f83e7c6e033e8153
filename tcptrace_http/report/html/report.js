// Draws the charts, and makes the tables sort and filter. Rows are added when they are asked for, so that
// a table of many thousands opens at once.
"use strict";
const ROWS_AT_A_TIME = 200;
// Characters of a text that would make a narrow column many lines high.
const LONG = 40;

const NARROW = 640;

// The chart as wide as the page has room for; on a phone with its legend below, and short names.
const fitted = (chart, width) => {
  const spec = { ...chart, width, background: null, autosize: { type: "fit-x", contains: "padding" } };
  if (width >= NARROW) return spec;
  const narrowed = JSON.parse(JSON.stringify(spec));
  narrowed.config = { ...narrowed.config, legend: { orient: "bottom", columns: 3 } };
  narrowed.title.limit = width;
  for (const layer of narrowed.layer) {
    if (layer.encoding.y?.axis?.labelLimit) layer.encoding.y.axis.labelLimit = width / 3;
  }
  return narrowed;
};

for (const place of document.querySelectorAll("[data-chart]")) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const quiet = { axis: { gridColor: "#34393f" } };
  const options = { actions: false, renderer: "svg", theme: dark ? "dark" : undefined, config: dark ? quiet : {} };
  vegaEmbed(place, fitted(CHARTS[place.dataset.chart], place.clientWidth), options).then(({ view }) => {
    // What is clicked in a chart is what the tables show.
    view.addEventListener("click", (event, item) => {
      const datum = item?.datum ?? {};
      const selected = Object.entries(TABLES).filter(([, { selected_by: columns }]) =>
        columns.length > 0 && columns.every((column) => datum[column] !== undefined));
      for (const [name, { selected_by: columns }] of selected) {
        const search = document.querySelector(`#${name} input`);
        search.value = columns.map((column) => `${column}=${datum[column]}`).join(" ");
        search.dispatchEvent(new Event("input"));
      }
      if (selected.length > 0) document.querySelector(`#${selected[0][0]}`).scrollIntoView();
    });
  });
}

const numbers = new Intl.NumberFormat("en");

const compare = (left, right) => {
  if (left === right) return 0;
  if (left === null) return 1;
  if (right === null) return -1;
  return typeof left === "number" ? left - right : String(left).localeCompare(String(right));
};

for (const element of document.querySelectorAll("[data-table]")) {
  const table = TABLES[element.dataset.table];
  const section = element.closest("section");
  const search = section.querySelector("input");
  const note = section.querySelector("[data-shown]");
  let texts;
  const state = { column: -1, descending: false, shown: ROWS_AT_A_TIME };

  const head = element.tHead.insertRow();
  table.columns.forEach((name, column) => {
    const cell = document.createElement("th");
    const button = document.createElement("button");
    button.textContent = name.replaceAll("_", " ");
    button.addEventListener("click", () => {
      state.descending = state.column === column ? !state.descending : typeof table.rows[0]?.[column] === "number";
      state.column = column;
      draw();
    });
    cell.append(button);
    head.append(cell);
  });

  const chosen = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length > 0) texts ??= new Map(table.rows.map((row) => [row, row.join(" ").toLowerCase()]));
    const rows = words.length === 0 ? [...table.rows] : table.rows.filter((row) => {
      const text = texts.get(row);
      return words.every((word) => {
        const [name, value] = word.split("=", 2);
        const column = value === undefined ? -1 : table.columns.indexOf(name);
        return column < 0 ? text.includes(word) : String(row[column]).toLowerCase() === value;
      });
    });
    if (state.column >= 0) {
      const sign = state.descending ? -1 : 1;
      rows.sort((left, right) => {
        // What is not known comes last, whichever way is sorted.
        const [a, b] = [left[state.column], right[state.column]];
        return a === null || b === null ? compare(a, b) : sign * compare(a, b);
      });
    }
    return rows;
  };

  const draw = () => {
    const rows = chosen();
    [...head.cells].forEach((cell, column) => {
      cell.ariaSort = column === state.column ? (state.descending ? "descending" : "ascending") : "none";
    });
    element.tBodies[0].replaceChildren(...rows.slice(0, state.shown).map((row) => {
      const line = document.createElement("tr");
      for (const value of row) {
        const cell = line.insertCell();
        cell.textContent = typeof value === "number" ? numbers.format(value) : value ?? "";
        if (typeof value === "number") cell.className = "n";
        if (String(value).length > LONG) cell.className = "long";
      }
      return line;
    }));
    const left = rows.length - Math.min(rows.length, state.shown);
    note.replaceChildren(`${Math.min(rows.length, state.shown)} of ${table.rows.length} rows `);
    if (left > 0) {
      const more = document.createElement("button");
      more.textContent = `show ${Math.min(left, ROWS_AT_A_TIME)} more`;
      more.addEventListener("click", () => { state.shown += ROWS_AT_A_TIME; draw(); });
      note.append(more);
    }
  };
  search.addEventListener("input", () => { state.shown = ROWS_AT_A_TIME; draw(); });
  draw();
}

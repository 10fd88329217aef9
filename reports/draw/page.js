/* Opens the section that a link leads to, and marks tables that are wider than their place.

   Sorts a table by the column whose header is clicked, and in the other direction at the next click. "2 m 05 s" and "117 KB" are
   numbers. */
const UNITS = { ns: 1e-9, us: 1e-6, ms: 1e-3, m: 60, h: 3600, K: 1e3, KB: 1e3, M: 1e6, MB: 1e6, G: 1e9, GB: 1e9, TB: 1e12 };

function valueOf(row, column) {
  const text = (row.cells[column]?.textContent ?? "").replace(/,/g, "");
  if (!/^[-+\d]/.test(text)) return text;
  let sum = 0;
  for (const [, number, unit] of text.matchAll(/([-+]?[\d.]+(?:e[-+]?\d+)?) ?([a-zA-Z]*)/g)) sum += number * (UNITS[unit] ?? 1);
  return sum;
}

document.addEventListener("click", (event) => {
  const header = event.target.closest("th[data-s]");
  if (!header) return;
  const body = header.closest("table").tBodies[0];
  const direction = (header.dataset.s = header.dataset.s === "1" ? "-1" : "1");
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  [...body.rows]
    .sort((a, b) => direction * compare(valueOf(a, header.cellIndex), valueOf(b, header.cellIndex)))
    .forEach((row) => body.append(row));
});

const reveal = () => {
  const target = document.getElementById(location.hash.slice(1));
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  target?.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    target.classList.toggle("o", target.scrollWidth > target.clientWidth + 1);
    target.tabIndex = target.classList.contains("o") ? 0 : -1;
  }
});
document.querySelectorAll(".w").forEach((table) => sizes.observe(table));

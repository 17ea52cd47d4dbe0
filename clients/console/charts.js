// Charts of a node over time: inline SVG, each with its figures in a table.

import { bytes, element, milliseconds, number, table } from "./elements.js";

const [width, height, left, right, top, bottom] = [640, 190, 76, 12, 12, 28];
const rate = (value) => value === 0 || value >= 100 ? number(Math.round(value)) : value.toPrecision(2).replace(/\.0$/, "");
const count = (value) => number(Math.round(value));

/**
 * What is drawn: a title, the format of a value, a sentence, and the series, each `[name, value]` of a sample and its length in seconds.
 */
const charts = [
  ["Requests a second, by status", rate, "4xx are refused by the server, 5xx have failed.", [
    ["2xx", (sample, step) => sample.ok / step], ["3xx", (sample, step) => sample.redirected / step],
    ["4xx", (sample, step) => sample.refused / step], ["5xx", (sample, step) => sample.failed / step],
  ]],
  ["Time of a request", milliseconds, "", [
    ["Mean", (sample) => mean(sample.request_seconds, sample.ok + sample.redirected + sample.refused + sample.failed)],
    ["95 of 100 within", (sample) => sample.request_p95 * 1000],
  ]],
  ["Commits a second", rate, "Several change sets may share a commit.", [
    ["Commits", (sample, step) => sample.commits / step], ["Applied change sets", (sample, step) => sample.applied / step],
  ]],
  ["Time of a commit", milliseconds, "", [
    ["Mean", (sample) => mean(sample.commit_seconds, sample.commits)], ["95 of 100 within", (sample) => sample.commit_p95 * 1000],
  ]],
  ["Waiting jobs of all queues", count, "The greatest number of the moments that were sampled.", [["Jobs", (sample) => sample.queue]]],
  ["Conflicts and refused change sets", count, "In each period.", [
    ["Conflicts", (sample) => sample.conflicts], ["Refused change sets", (sample) => sample.refusals],
  ]],
  ["Devices", count, "Devices that are signed in and not away for too long. Up to 2,000 are looked at in each minute with writes.", [
    ["All", (sample) => sample.devices], ["Behind", (sample) => sample.devices_behind],
  ]],
  ["Memory", bytes, "Of the server's process.", [["Memory", (sample) => sample.memory]]],
  ["Open event streams", count, "", [["Streams", (sample) => sample.streams]]],
];

const mean = (seconds, count) => count === 0 ? 0 : seconds / count * 1000;

function shape(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A time of a sample, in UTC; the day too, where a chart shows several. */
function clock(seconds, range) {
  const text = new Date(seconds * 1000).toISOString();
  return range === "month" ? text.slice(0, 16).replace("T", " ") : text.slice(11, range === "hour" ? 19 : 16);
}

/** The least round number from `value` on, with a round half. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 10].map((step) => step * power).find((round) => round >= value) ?? 10 * power;
}

/** The lines of a series: one for each stretch without a gap. */
function lines(points, step) {
  const stretches = [];
  for (const point of points) {
    const last = stretches.at(-1);
    if (last && point.at - last.at(-1).at <= step) last.push(point);
    else stretches.push([point]);
  }
  return stretches;
}

function chart([title, format, text, series], { range, from, to, step, samples }) {
  const values = series.map(([name, value]) => ({ name, points: samples.map((sample) => ({ at: sample.at, value: value(sample, step) })) }));
  const greatest = Math.max(0, ...values.flatMap(({ points }) => points.map(({ value }) => value)));
  // The half of a count is a count too.
  const limit = ceiling(format === count ? Math.max(greatest, 2) : greatest || 1);
  const x = (at) => left + (at - from) / (to - from) * (width - left - right);
  const y = (value) => top + (1 - value / limit) * (height - top - bottom);
  const label = `${title}, ${clock(from, range)} to ${clock(to, range)} UTC; greatest value ${format(greatest)}. The table below has the figures.`;
  const drawing = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "chart" });
  for (const share of [0, 0.5, 1]) {
    drawing.append(
      shape("line", { x1: left, x2: width - right, y1: y(share * limit), y2: y(share * limit), class: "grid" }),
      shape("text", { x: left - 8, y: y(share * limit) + 4, "text-anchor": "end" }, format(share * limit)));
  }
  for (const [share, anchor] of [[0, "start"], [0.5, "middle"], [1, "end"]]) {
    const at = from + share * (to - from);
    drawing.append(shape("text", { x: x(at), y: height - 8, "text-anchor": anchor }, clock(at, range)));
  }
  values.forEach(({ points }, index) => {
    for (const stretch of lines(points, step)) {
      const place = ({ at, value }) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`;
      if (stretch.length === 1) {
        const [cx, cy] = place(stretch[0]).split(",");
        drawing.append(shape("circle", { cx, cy, r: 2.5, class: `dot series-${index}` }));
      } else drawing.append(shape("polyline", { points: stretch.map(place).join(" "), class: `series-${index}` }));
    }
  });
  const legend = series.length === 1 ? null : element("ul", { class: "legend" }, series.map(([name], index) => {
    const line = shape("svg", { viewBox: "0 0 28 8", class: "key", "aria-hidden": "true" }, shape("line", { x1: 0, x2: 28, y1: 4, y2: 4, class: `series-${index}` }));
    return element("li", {}, line, name);
  }));
  const figures = element("details", {}, element("summary", {}, "Figures", element("span", { class: "visually-hidden" }, ` of ${title}`)),
    table(`${title}: figures`, [
      ["Time (UTC)", ({ at }) => clock(at, range)],
      ...series.map(([name, value]) => [name, (sample) => format(value(sample, step)), true]),
    ], [...samples].reverse()));
  return element("section", { class: "panel" }, element("h2", {}, title), drawing, legend, text ? element("p", { class: "quiet" }, text) : null, figures);
}

const ranges = { hour: "Last hour", day: "Last day", month: "Last 31 days" };

export default async function view(get, { range: asked, node: askedNode }) {
  const found = await get("charts", { range: ranges[asked] ? asked : "hour", node: askedNode });
  const samples = found.points.map(([at, ...values]) => Object.fromEntries([["at", at], ...found.fields.map((name, index) => [name, values[index]])]));
  const choices = (name, pairs, chosen, path) => element("nav", { "aria-label": name, class: "choices" },
    element("span", { class: "quiet" }, name), element("ul", {}, pairs.map(([value, text]) => element("li", {},
      element("a", { href: `#/charts/?${new URLSearchParams(path(value))}`, "aria-current": value === chosen && "true" }, text)))));
  return ["Charts", [
    choices("Period", Object.entries(ranges), found.range, (range) => ({ range, node: found.node })),
    found.nodes.length > 1 || askedNode ? choices("Node", found.nodes.map((name) => [name, name]), found.node, (node) => ({ range: found.range, node })) : null,
    samples.length === 0 ? element("p", { class: "answer" }, "There are no figures of this period yet. The first come ten seconds after the start of a server with a console.") : null,
    element("div", { class: "panels" }, charts.map((drawn) => chart(drawn, { ...found, samples }))),
    element("p", { class: "quiet" }, `Figures of the node ${found.node}; a point is ${found.step < 60 ? `${found.step} seconds` : found.step < 3600 ? `${found.step / 60} ${found.step === 60 ? "minute" : "minutes"}` : `${found.step / 3600} hours`}. A gap is a time without a server.`),
  ]];
}

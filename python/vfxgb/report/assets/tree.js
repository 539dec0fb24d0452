// Draws one tree of the model from left to right, on narrow screens as a list that is indented, and writes it as a table. Data: the JSON block "tree-data".
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const BOX = { width: 164, height: 42, gap: 92, row: 54, leaf: 92, margin: 16, fold: 46 };
const LISTED = { width: 184, row: 66, margin: 8, step: 22, least: 8 }; // a step to the right for each level, as far as there is room
const OPEN_LEAVES = { wide: 8, narrow: 4 }; // a tree is unfolded as far as it ends in about so many boxes
/** Boxes are wider in the list, whose letters are larger. */
const boxWidth = () => (NARROW.matches ? LISTED.width : BOX.width);
const NARROW = matchMedia("(max-width: 40rem)");
const chosen = { tree: 0, open: null }; // outlives the section, which the live view replaces

function element(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function digits(value, most = 4) {
  return Math.abs(value) >= 10000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(most)));
}

function shorten(text, most) {
  return text.length <= most ? text : text.slice(0, most - 1) + "\u2026";
}

/** What a row that goes to yes fulfils; of a split by categories the report has it in words. */
function condition(cut) {
  return " " + (typeof cut === "string" ? cut : "< " + digits(cut));
}

/** What is to be said of a node, as words. */
function describe(data, tree, node) {
  if (tree.owner[node] < 0) {
    const value = tree.value[node];
    const cover = data.gains ? "cover " + digits(tree.cover[node], 3) : "leaf";
    return { leaf: true, what: (value > 0 ? "+" : "") + digits(value), minor: cover };
  }
  const masked = tree.name[node] < 0;
  return {
    leaf: false,
    masked,
    party: data.parties[tree.owner[node]],
    what: masked ? "record " + tree.record[node] + ", masked" : data.features[tree.name[node]] + condition(tree.cut[node]),
    name: masked ? "record " + tree.record[node] : data.features[tree.name[node]],
    below: masked ? ", masked" : condition(tree.cut[node]),
    minor: data.gains ? "gain " + digits(tree.gain[node], 3) + ", cover " + digits(tree.cover[node], 3) : "",
    missing: { 1: "yes", 0: "no" }[tree.left[node]] || "",
  };
}

/** Nodes below each node. Children come after their parents. */
function descendants(tree) {
  const below = new Array(tree.owner.length).fill(0);
  for (let node = below.length - 1; node >= 0; node--) {
    if (tree.owner[node] >= 0) below[node] = 2 + below[tree.yes[node]] + below[tree.no[node]];
  }
  return below;
}

/** Level by level, the splits to show with their children at first. */
function firstOpen(tree) {
  const open = new Set();
  let leaves = 1;
  for (let level = [0]; level.length; ) {
    const inner = level.filter((node) => tree.owner[node] >= 0);
    if (leaves + inner.length > (NARROW.matches ? OPEN_LEAVES.narrow : OPEN_LEAVES.wide)) break;
    inner.forEach((node) => open.add(node));
    leaves += inner.length;
    level = inner.flatMap((node) => [tree.yes[node], tree.no[node]]);
  }
  return open;
}

/** Places of the nodes that are shown: node -> {x, y}; y of a split is the middle of its children's. */
function layOut(tree, open) {
  const places = new Map();
  let row = 0;
  (function place(node, depth) {
    let y;
    if (tree.owner[node] >= 0 && open.has(node)) y = (place(tree.yes[node], depth + 1) + place(tree.no[node], depth + 1)) / 2;
    else y = BOX.margin + BOX.height / 2 + BOX.row * row++;
    places.set(node, { x: BOX.margin + depth * (BOX.width + BOX.gap), y });
    return y;
  })(0, 0);
  return { places, width: farRight(tree, open, places) + BOX.margin, height: 2 * BOX.margin + BOX.height + BOX.row * (row - 1) };
}

/** Where the last box ends, with the mark of what is folded behind it. */
function farRight(tree, open, places) {
  const width = (node) => (tree.owner[node] < 0 ? BOX.leaf : boxWidth() + (open.has(node) ? 0 : BOX.fold));
  return Math.max(...[...places].map(([node, at]) => at.x + width(node)));
}

/** The same below each other, a step to the right for each level, in `room` pixels if that can be. */
function layOutAsList(tree, open, room) {
  const depths = new Map();
  (function visit(node, depth) {
    depths.set(node, depth);
    if (tree.owner[node] >= 0 && open.has(node)) [tree.yes[node], tree.no[node]].forEach((child) => visit(child, depth + 1));
  })(0, 0);
  const deepest = Math.max(1, ...depths.values());
  const left = room - 2 * LISTED.margin - LISTED.width - BOX.fold;
  const step = Math.max(LISTED.least, Math.min(LISTED.step, left / deepest));
  const places = new Map();
  let row = 0;
  for (const [node, depth] of depths) {
    places.set(node, { x: LISTED.margin + depth * step, y: LISTED.margin + BOX.height / 2 + LISTED.row * row++ });
  }
  const height = 2 * LISTED.margin + BOX.height + LISTED.row * (row - 1);
  return { places, width: Math.max(farRight(tree, open, places) + LISTED.margin, 1), height };
}

/** From under a split down to its child, with the answer above the child. */
function drawListEdge(from, to, answer, isDefault) {
  const path = `M${from.x + 4} ${from.y + BOX.height / 2}V${to.y}H${to.x}`;
  return [
    element("path", { d: path, class: isDefault ? "edge default" : "edge" }),
    element("text", { x: to.x + 4, y: to.y - BOX.height / 2 - 5, class: "answer" }, answer + (isDefault ? ", missing" : "")),
  ];
}

function drawEdge(from, to, answer, isDefault) {
  const start = from.x + BOX.width;
  const path = `M${start} ${from.y}C${start + 16} ${from.y} ${start + 4} ${to.y} ${start + 20} ${to.y}L${to.x} ${to.y}`;
  return [
    element("path", { d: path, class: isDefault ? "edge default" : "edge" }),
    element("text", { x: to.x - 5, y: to.y - 5, class: "answer end" }, answer + (isDefault ? ", missing" : "")),
  ];
}

function drawNode(said, node, at, hidden, isOpen) {
  const kind = said.leaf ? "leaf" : said.masked ? "masked" : "own";
  const group = element("g", { class: "node " + kind, transform: `translate(${at.x} ${at.y - BOX.height / 2})`, "data-node": node, id: "node-" + node });
  const top = said.leaf ? 4 : 0;
  group.append(
    element("title", {}, said.what),
    element("rect", { class: "box", y: top, width: said.leaf ? BOX.leaf : boxWidth(), height: BOX.height - 2 * top, rx: 7 }),
  );
  if (said.leaf) {
    group.append(
      element("text", { class: "what", x: 12, y: 18 }, said.what),
      element("text", { class: "minor", x: 12, y: 32 }, said.minor),
    );
    return group;
  }
  if (said.masked) group.append(element("rect", { width: boxWidth(), height: BOX.height, rx: 7, fill: "url(#tree-hatch)" }));
  group.append(
    element("path", { class: said.party.style, d: `M7 0H26V${BOX.height}H7A7 7 0 0 1 0 ${BOX.height - 7}V7A7 7 0 0 1 7 0Z` }),
    element("text", { class: "letter on-" + said.party.style, x: 13, y: 25 }, said.party.letter),
    element("text", { class: "what", x: 34, y: 18 }, shorten(said.name, (NARROW.matches ? 20 : 18) - Math.min(said.below.length, 12)) + shorten(said.below, 14)),
    element("text", { class: "minor", x: 34, y: 33 }, said.minor),
  );
  group.classList.add("foldable");
  group.setAttribute("tabindex", "0");
  group.setAttribute("role", "button");
  group.setAttribute("aria-expanded", String(isOpen));
  const missing = said.missing ? `missing goes to ${said.missing}` : "";
  group.setAttribute("aria-label", [`${said.party.name}: ${said.what}`, said.minor, missing, `${hidden} nodes below`].filter(Boolean).join("; "));
  if (!isOpen) {
    group.append(
      element("rect", { class: "fold", x: boxWidth() + 2, y: BOX.height / 2 - 10, width: 42, height: 20, rx: 10 }),
      element("text", { class: "minor mid", x: boxWidth() + 23, y: BOX.height / 2 + 4 }, "+" + hidden),
    );
  }
  return group;
}

function drawTree(data, tree, open, room) {
  const { places, width, height } = NARROW.matches ? layOutAsList(tree, open, room) : layOut(tree, open);
  const edge = NARROW.matches ? drawListEdge : drawEdge;
  const below = descendants(tree);
  const drawing = element("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Tree " + chosen.tree });
  const hatch = { id: "tree-hatch", width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  drawing.append(
    element("defs", {}, element("pattern", hatch, element("line", { y2: 8, class: "hatch" }))),
  );
  const nodes = [];
  for (const [node, at] of [...places].sort((a, b) => a[0] - b[0])) {
    const isOpen = tree.owner[node] >= 0 && open.has(node);
    if (isOpen) {
      drawing.append(
        ...edge(at, places.get(tree.yes[node]), "yes", tree.left[node] === 1),
        ...edge(at, places.get(tree.no[node]), "no", tree.left[node] === 0),
      );
    }
    nodes.push(drawNode(describe(data, tree, node), node, at, below[node], isOpen));
  }
  drawing.append(...nodes);
  return drawing;
}

/** The same as a table: for screen readers, and to copy from. */
function tabulate(data, tree, number) {
  const table = document.createElement("table");
  const caption = table.createCaption();
  caption.textContent = "Tree " + number;
  caption.className = "unseen";
  const fill = (row, cells, name) => {
    for (const cell of cells) {
      const made = document.createElement(name);
      made.textContent = cell;
      row.append(made);
    }
  };
  fill(table.createTHead().insertRow(), ["node", "owner", "split", "yes", "no", "missing", "gain", "cover", "leaf value"], "th");
  const body = table.createTBody();
  for (let node = 0; node < tree.owner.length; node++) {
    const said = describe(data, tree, node);
    const cover = data.gains ? digits(tree.cover[node]) : "not shared";
    const gain = said.leaf ? "" : data.gains ? digits(tree.gain[node]) : "not shared";
    fill(
      body.insertRow(),
      said.leaf
        ? [node, "", "leaf", "", "", "", "", cover, said.what]
        : [node, said.party.name, said.what, tree.yes[node], tree.no[node], said.missing, gain, cover, ""],
      "td",
    );
  }
  const box = document.createElement("div");
  box.className = "scroll";
  box.tabIndex = 0;
  box.append(table);
  return box;
}

/** Fill the section of the trees; called again when it has been replaced. */
function setUpTrees() {
  const block = document.getElementById("tree-data");
  if (!block) return;
  const data = JSON.parse(block.textContent);
  const [choice, before, after, unfold, fold, drawing, table, asTable] = [
    "tree-choice", "tree-before", "tree-after", "tree-unfold", "tree-fold", "tree-drawing", "tree-table", "tree-as-table",
  ].map((id) => document.getElementById(id));

  const draw = (focus) => {
    drawing.replaceChildren(drawTree(data, data.trees[chosen.tree], chosen.open, drawing.clientWidth));
    if (focus !== undefined) document.getElementById("node-" + focus).focus();
  };
  const tabulateIfOpen = () => {
    if (asTable.open) table.replaceChildren(tabulate(data, data.trees[chosen.tree], chosen.tree));
  };
  const choose = (number, open) => {
    chosen.tree = Math.max(0, Math.min(data.trees.length - 1, number));
    chosen.open = open ?? firstOpen(data.trees[chosen.tree]);
    choice.value = String(chosen.tree);
    before.disabled = chosen.tree === 0;
    after.disabled = chosen.tree === data.trees.length - 1;
    draw();
    tabulateIfOpen();
  };
  const toggle = (target) => {
    const group = target.closest(".foldable");
    if (!group) return false;
    const node = Number(group.dataset.node);
    if (!chosen.open.delete(node)) chosen.open.add(node);
    draw(node);
    return true;
  };

  choice.addEventListener("change", () => choose(Number(choice.value)));
  before.addEventListener("click", () => choose(chosen.tree - 1));
  after.addEventListener("click", () => choose(chosen.tree + 1));
  unfold.addEventListener("click", () => {
    chosen.open = new Set(data.trees[chosen.tree].owner.keys());
    draw();
  });
  fold.addEventListener("click", () => {
    chosen.open = firstOpen(data.trees[chosen.tree]);
    draw();
  });
  drawing.addEventListener("click", (event) => toggle(event.target));
  drawing.addEventListener("keydown", (event) => {
    if ((event.key === "Enter" || event.key === " ") && toggle(event.target)) event.preventDefault();
  });
  asTable.addEventListener("toggle", tabulateIfOpen);
  NARROW.onchange = () => choose(chosen.tree);
  document.getElementById("tree-controls").hidden = false;
  drawing.hidden = false;
  choose(chosen.tree, chosen.open);
}

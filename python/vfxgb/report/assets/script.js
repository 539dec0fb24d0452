// The page itself: light and dark, the section in view, and the live view. Runs after tree.js, in one script with it.

/** Light or dark, as the system has it until the button is pressed. */
function setUpTheme() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  system.addEventListener("change", name);
  name();
  button.hidden = false;
}

/** Mark the section in view in the list of sections. */
function setUpNavigation() {
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const link of links.values()) link.removeAttribute("aria-current");
        const link = links.get(entry.target.id);
        link.setAttribute("aria-current", "true");
        const list = link.closest("ul");
        list.scrollLeft = link.offsetLeft - list.offsetLeft - 40;
      }
    },
    { rootMargin: "-20% 0px -75% 0px" },
  );
  for (const section of document.querySelectorAll("main > section")) seen.observe(section);
}

/** Put new HTML into a section and leave what the reader does as it is: focus, what is open, what is scrolled. */
function replaceSection(section, html) {
  const focused = section.contains(document.activeElement) ? document.activeElement.id : "";
  const open = new Map([...section.querySelectorAll("details[id]")].map((one) => [one.id, one.open]));
  const scrolled = [...section.querySelectorAll(".scroll")].map((one) => [one.scrollLeft, one.scrollTop]);
  section.innerHTML = html;
  section.hidden = html === "";
  document.getElementById("to-" + section.id).hidden = html === "";
  for (const one of section.querySelectorAll("details[id]")) if (open.has(one.id)) one.open = open.get(one.id);
  if (section.id === "trees") setUpTrees();
  section.querySelectorAll(".scroll").forEach((one, place) => {
    if (place < scrolled.length) [one.scrollLeft, one.scrollTop] = scrolled[place];
  });
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

/** Take sections as they come: each message is an object of section ids and inner HTML. */
function setUpLive() {
  const badge = document.getElementById("badge");
  if (!badge) return;
  const last = new Map();
  const state = () => document.querySelector("#head [data-state]")?.dataset.state ?? "";
  const show = (kind, text) => {
    if (badge.textContent === text) return;
    badge.dataset.badge = kind;
    badge.textContent = text;
  };
  const source = new EventSource("events");
  const settle = () => {
    if (["", "running"].includes(state())) return false;
    source.close();
    show(state() === "finished" ? "finished" : "lost", state());
    return true;
  };
  source.onopen = () => show("live", "live");
  source.onerror = () => settle() || show("lost", "connection lost");
  source.onmessage = (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const section = document.getElementById(id);
      if (section && last.get(id) !== html) replaceSection(section, html);
      last.set(id, html);
    }
    settle() || show("live", "live");
  };
}

setUpTheme();
setUpTrees();
setUpNavigation();
setUpLive();

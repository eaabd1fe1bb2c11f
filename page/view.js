// What is on the screen, as a tree of descriptions: h() describes an element, show() makes the document's elements so.
//
//     h("button.primary", { onclick: go, disabled: busy }, "Begin")       class names stand behind the tag's name
//     show(document.body, [h("p", null, text)])                           what differs is changed, the rest stays
//
// Everything that comes from models, tools and files is data here: it becomes a text node, whatever it is. Only what h() has made is an
// element (an object out of JSON is not, and is shown as text), tags and attributes are those of the lists below, addresses are checked,
// and nothing in the page parses markup. Children with a `key` keep their elements when their order changes.

const KINDS = Symbol("kind");
const SVG = "http://www.w3.org/2000/svg";

const svgTags = new Set("svg g rect line path circle polyline title".split(" "));
const htmlTags = new Set(("a article aside b blockquote br button code col colgroup dd del details dialog div dl dt em fieldset footer form h1 h2 h3 h4 h5 h6 "
  + "header hr input ins kbd label legend li main mark nav ol optgroup option output p pre progress section select small span strong sub summary sup "
  + "table tbody td textarea tfoot th thead time tr ul").split(" "));

const attributes = new Set(("id title type name placeholder for role tabindex min max step rows cols maxlength inputmode autocomplete autocapitalize spellcheck "
  + "datetime colspan scope start open lang dir required readonly multiple size pattern accesskey enterkeyhint "
  + "viewBox x y x1 y1 x2 y2 width height rx ry d cx cy r points fill preserveAspectRatio").split(" "));

// These are what the person sees or has typed, and not only what stood in the document.
const properties = new Set("value checked selected disabled indeterminate scrollTop hidden".split(" "));

class Described {
  constructor(tag, props, children) {
    this.tag = tag;
    this.props = props;
    this.children = children;
    this.key = props.key;
  }
}

const none = Object.freeze({});
const names = new Map();

function readName(name) {
  let read = names.get(name);
  if (!read) {
    const [tag, ...classes] = name.split(".");
    if (!htmlTags.has(tag) && !svgTags.has(tag)) throw new Error(`no element '${tag}' is used here`);
    names.set(name, read = { tag, classes: classes.join(" ") });
  }
  return read;
}

function flatten(children, into) {
  for (const child of children) {
    if (Array.isArray(child)) flatten(child, into);
    else if (child instanceof Described) into.push(child);
    else if (typeof child === "string") into.push(child);
    else if (typeof child === "number" || typeof child === "bigint") into.push(String(child));
    else if (child !== null && typeof child === "object") into.push(JSON.stringify(child));
  }
  return into;
}

/** Describes an element. `props` are attributes of the list, `class`, `style` (an object), `data`, `aria` (objects), `on…` (functions), `key`,
 *  and `made(element)`, `gone(element)`, `patched(element)`, which are called when it has come, is to go, and each time it was looked at. */
export function h(name, props, ...children) {
  const { tag, classes } = readName(name);
  const all = props ?? none;
  const made = new Described(tag, all, flatten(children, []));
  made.classes = all.class ? (classes ? classes + " " + all.class : all.class) : classes;
  return made;
}

/** An address that may stand in a link, else null: what would run, or name another scheme, is none. */
export function safeAddress(text) {
  if (typeof text !== "string" || text.length > 4000) return null;
  if (/^#[\w/?=&.,:%~-]*$/.test(text)) return text;
  if (!/^(https?:\/\/|mailto:)/i.test(text)) return null;
  try {
    const url = new URL(text);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

// ---- Attributes ------------------------------------------------------------------------------------------------

function setAttribute(element, name, value) {
  if (value === undefined || value === null || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
}

function setStyle(element, next, before) {
  for (const name in before) if (!(name in next)) element.style.removeProperty(name);
  for (const name in next) if (next[name] !== before[name]) element.style.setProperty(name, String(next[name]));
}

function setGroup(element, prefix, next, before) {
  for (const name in before) if (!(name in next)) element.removeAttribute(prefix + name);
  for (const name in next) if (next[name] !== before[name]) setAttribute(element, prefix + name, next[name] === false && prefix === "aria-" ? "false" : next[name] === true ? "true" : next[name]);
}

// One listener for each kind of event, which calls what stands in the newest description.
function listen(element, type, fn) {
  const all = element[KINDS].handlers;
  if (!(type in all)) element.addEventListener(type, (event) => all[type]?.(event));
  all[type] = fn;
}

function setLink(element, value) {
  const address = safeAddress(value);
  setAttribute(element, "href", address);
  if (address && !address.startsWith("#")) {
    element.setAttribute("rel", "noopener noreferrer nofollow");
    element.setAttribute("target", "_blank");
  }
}

function setProp(element, name, value, before) {
  if (value === before && typeof value !== "object") return;
  if (name.startsWith("on")) listen(element, name.slice(2), typeof value === "function" ? value : undefined);
  else if (name === "style") setStyle(element, value ?? none, before ?? none);
  else if (name === "data") setGroup(element, "data-", value ?? none, before ?? none);
  else if (name === "aria") setGroup(element, "aria-", value ?? none, before ?? none);
  else if (name === "href") setLink(element, value);
  else if (properties.has(name)) element[name] = value ?? (name === "value" ? "" : false);
  else if (attributes.has(name)) setAttribute(element, name, value);
  else if (!["class", "key", "made", "gone", "patched"].includes(name)) throw new Error(`no attribute '${name}' is used here`);
}

function setProps(element, described, before) {
  const old = before?.props ?? none;
  if (described.classes !== (before?.classes ?? "")) element.setAttribute("class", described.classes);
  for (const name in old) if (!(name in described.props)) setProp(element, name, undefined, old[name]);
  for (const name in described.props) setProp(element, name, described.props[name], old[name]);
}

// ---- Elements ----------------------------------------------------------------------------------------------------

function make(described) {
  if (typeof described === "string") return document.createTextNode(described);
  const element = svgTags.has(described.tag) ? document.createElementNS(SVG, described.tag) : document.createElement(described.tag);
  element[KINDS] = { described: null, handlers: {}, children: [] };
  update(element, described);
  described.props.made?.(element);
  return element;
}

function update(node, described) {
  if (typeof described === "string") {
    if (node.data !== described) node.data = described;
    return;
  }
  const kept = node[KINDS];
  const before = kept.described;
  if (before === described) return;
  kept.described = described;
  // A list's options have to be there before one of them can be chosen.
  const late = described.tag === "select" && "value" in described.props;
  if (late) showChildren(node, described.children);
  setProps(node, described, before);
  if (!late) showChildren(node, described.children);
  described.props.patched?.(node);
}

function drop(node) {
  const kept = node[KINDS];
  if (!kept) return;
  for (const child of kept.children) drop(child.node);
  kept.described?.props.gone?.(node);
}

const typeOf = (described) => (typeof described === "string" ? "#text" : described.tag);
const keyOf = (described) => (typeof described === "string" ? undefined : described.key);

// Old children by their keys; those without one wait in order for the next of their kind.
function waiting(children) {
  const keyed = new Map(), plain = [];
  for (const child of children) {
    const key = keyOf(child.described);
    if (key === undefined || keyed.has(key)) plain.push(child);
    else keyed.set(key, child);
  }
  return { keyed, plain, next: 0 };
}

function take(old, described) {
  const key = keyOf(described);
  if (key !== undefined) {
    const found = old.keyed.get(key);
    if (!found || typeOf(found.described) !== described.tag) return null;
    old.keyed.delete(key);
    return found.node;
  }
  const one = old.plain[old.next];
  if (!one || typeOf(one.described) !== typeOf(described) || keyOf(one.described) !== undefined) return null;
  old.next++;
  return one.node;
}

function showChildren(parent, list) {
  const kept = parent[KINDS];
  const old = waiting(kept.children);
  const next = list.map((described) => ({ described, node: take(old, described) }));
  for (const child of [...old.keyed.values(), ...old.plain.slice(old.next)]) {
    drop(child.node);
    child.node.remove();
  }
  let at = parent.firstChild;
  for (const child of next) {
    if (child.node) update(child.node, child.described);
    else child.node = make(child.described);
    if (child.node === at) at = at.nextSibling;
    else parent.insertBefore(child.node, at);
  }
  kept.children = next;
}

/** Makes the children of an element of the document so. */
export function show(parent, children) {
  parent[KINDS] ??= { described: null, handlers: {}, children: [] };
  showChildren(parent, flatten(children, []));
}

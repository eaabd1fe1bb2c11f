// A form out of a JSON Schema: what an agent wants to be asked. What a form cannot show is typed as JSON.
//
// `values` is what was typed so far, by the names on the way ("day.start"); read() makes the value that is sent, and says what is missing.
import { h } from "../view.js";
import { text } from "../format.js";

const typeOf = (schema) => (Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type) ?? (schema.enum ? "string" : schema.properties ? "object" : "any");
const isPlain = (schema) => schema !== null && typeof schema === "object" && !Array.isArray(schema);
const propertiesOf = (schema) => Object.entries(isPlain(schema.properties) ? schema.properties : {}).filter(([, one]) => isPlain(one)).slice(0, 200);
const isLong = (schema) => !(schema.maxLength <= 200) && !schema.format && !schema.pattern;

function control(schema, path, values, set, required) {
  const type = typeOf(schema), value = values[path];
  const common = { id: "field-" + path, required, value: value ?? "", oninput: (e) => set(path, e.target.value) };
  if (Array.isArray(schema.enum)) {
    return h("select", { ...common, onchange: (e) => set(path, e.target.value) }, required ? null : h("option", { value: "" }, "–"), schema.enum.slice(0, 500).map((one) => h("option", { value: JSON.stringify(one) }, text(one))));
  }
  if (type === "boolean") return h("input", { id: "field-" + path, type: "checkbox", checked: value === true, onchange: (e) => set(path, e.target.checked) });
  if (type === "integer" || type === "number") return h("input", { ...common, type: "number", step: type === "integer" ? 1 : "any", min: schema.minimum, max: schema.maximum });
  if (type === "string") return isLong(schema) ? h("textarea", { ...common, rows: 2 }) : h("input", { ...common, type: schema.format === "date" ? "date" : "text", maxlength: schema.maxLength });
  if (type === "array" && typeOf(schema.items ?? {}) === "string") return h("textarea", { ...common, rows: 3, placeholder: "one a line" });
  return h("textarea.code", { ...common, rows: 3, placeholder: "JSON", spellcheck: "false" });
}

function field(name, schema, path, values, set, required) {
  const about = typeof schema.description === "string" ? h("span.about", null, schema.description) : null;
  const label = [h("span.field-name", null, typeof schema.title === "string" ? schema.title : name, required ? h("span.needed", { title: "needed" }, "*") : null), about];
  if (typeOf(schema) === "object" && propertiesOf(schema).length > 0) return h("fieldset", { key: path }, h("legend", null, label), fields(schema, values, set, path));
  return h("label.field", { key: path, class: typeOf(schema) === "boolean" ? "check" : "" }, label, control(schema, path, values, set, required));
}

/** The fields of an object's schema. */
export function fields(schema, values, set, below = "") {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const inOrder = [...propertiesOf(schema)].sort(([a], [b]) => required.has(b) - required.has(a)); // what is needed first
  return inOrder.map(([name, one]) => field(name, one, below ? `${below}.${name}` : name, values, set, required.has(name)));
}

function readOne(schema, path, values, needed) {
  const type = typeOf(schema), given = values[path] ?? (schema.default !== undefined && values[path] === undefined ? undefined : "");
  if (typeOf(schema) === "object" && propertiesOf(schema).length > 0) return readObject(schema, values, path);
  if (given === undefined) return { value: schema.default };
  if (type === "boolean") return { value: typeof given === "boolean" ? given : needed ? false : undefined };
  if (given === "") return { value: undefined };
  if (Array.isArray(schema.enum)) return { value: JSON.parse(given) };
  if (type === "integer" || type === "number") return Number.isNaN(Number(given)) ? { wrong: "a number" } : { value: Number(given) };
  if (type === "string") return { value: given };
  if (type === "array" && typeOf(schema.items ?? {}) === "string") return { value: given.split("\n").map((one) => one.trim()).filter((one) => one !== "") };
  try {
    return { value: JSON.parse(given) };
  } catch {
    return { wrong: "JSON" };
  }
}

function readObject(schema, values, below) {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []), value = Object.create(null);
  for (const [name, one] of propertiesOf(schema)) {
    const path = below ? `${below}.${name}` : name;
    const read = readOne(one, path, values, required.has(name));
    if (read.wrong) return read.path ? read : { wrong: `'${path}' has to be ${read.wrong}`, path };
    if (read.value !== undefined) value[name] = read.value;
    else if (required.has(name)) return { wrong: `'${path}' is missing`, path };
  }
  return { value: below && Object.keys(value).length === 0 && !schema.required?.length ? undefined : value };
}

/** What was typed, as the value that the schema wants: {value}, or {wrong, path}. */
export function read(schema, values) {
  return readObject(schema, values, "");
}

/** Whether a schema is one for which there is a form. */
export function hasForm(schema) {
  return isPlain(schema) && propertiesOf(schema).length > 0;
}

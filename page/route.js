// Where in the page one is, as it stands behind '#':   #/   #/inbox   #/new/AGENT   #/run/ID/timeline?op=o3

const read = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

export function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [place = "", id = "", view = ""] = path.split("/").map(read);
  return { place: place || "runs", id, view, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a place. */
export function address(...parts) {
  return "#/" + parts.filter((part) => part !== undefined && part !== "").map(encodeURIComponent).join("/");
}

export function go(...parts) {
  location.hash = address(...parts);
}

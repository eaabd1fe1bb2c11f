// Server-sent events out of a response's body. EventSource cannot send a header, and the token goes in one.

function readEvent(block) {
  const event = { type: "message", data: "", id: undefined };
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    else if (line.startsWith("event:")) event.type = line.slice(6).trim();
    else if (line.startsWith("id:")) event.id = line.slice(3).trim();
  }
  event.data = data.join("\n");
  return data.length > 0 ? event : null;
}

/** Takes bytes as text in any pieces and gives the events that are whole: `const take = parser(); take(text) -> [{type, data, id}]`. */
export function parser() {
  let rest = "";
  return (piece) => {
    const events = [];
    const all = rest + piece;
    let from = 0;
    for (let end = all.indexOf("\n\n"); end >= 0; end = all.indexOf("\n\n", from)) {
      const event = readEvent(all.slice(from, end));
      if (event) events.push(event);
      from = end + 2;
    }
    rest = all.slice(from);
    return events;
  };
}

/** Calls on_events(events) for what comes, until the body ends. */
export async function readEvents(body, onEvents) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const take = parser();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = take(value);
    if (events.length > 0) onEvents(events);
  }
}

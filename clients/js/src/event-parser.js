// Server-Sent Events (HTML standard, section 9.2). Pure.

const longestLine = 64 << 10;
const longestEvent = 1 << 20;

/** Takes the text of a stream piece by piece, and gives its events. */
export class EventParser {
  constructor() {
    this.rest = "";
    this.lastEventID = null;
    this.retry = null;
    this.clear();
  }

  clear() {
    this.type = "";
    this.data = [];
    this.size = 0;
  }

  /**
   * @returns events `{type, data}`.
   * @throws RangeError when a line or an event is too long.
   */
  add(text) {
    const events = [];
    this.rest += text;
    const lines = this.rest.split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop();
    if (this.rest.length > longestLine) throw new RangeError("A line of the event stream is too long.");
    for (const line of lines) {
      if (line.length > longestLine) throw new RangeError("A line of the event stream is too long.");
      if (line !== "") this.field(line);
      else {
        if (this.data.length > 0) events.push({ type: this.type || "message", data: this.data.join("\n") });
        this.clear();
      }
    }
    return events;
  }

  field(line) {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    this.size += line.length;
    if (this.size > longestEvent) throw new RangeError("An event is too long.");
    if (name === "event") this.type = value;
    else if (name === "data") this.data.push(value);
    else if (name === "id" && !value.includes("\0")) this.lastEventID = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
  }
}

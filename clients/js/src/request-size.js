// How many bytes of edits a request of a sync carries. Pure. docs/PROTOCOL.md, section 6.2.

const most = 1 << 20;
const least = 16 << 10;
/** After so many requests of the present size twice as much is tried. */
const successes = 4;

/** On a slow way a large request is broken off before all of it has arrived, as often as it is sent: the next one is half as large. */
export class RequestSize {
  limit = most;
  arrived = 0;

  /** No whole answer came to a request, or the server did not wait for the end of it. */
  lose(size) {
    this.arrived = 0;
    if (size > least) this.limit = Math.max(least, Math.min(this.limit, size) >> 1);
  }

  /** A request arrived whole. */
  arrive(size) {
    // A small one says nothing of a larger one.
    if (this.limit === most || size < this.limit / 2) return;
    this.arrived += 1;
    if (this.arrived < successes) return;
    this.arrived = 0;
    this.limit = Math.min(most, this.limit * 2);
  }
}

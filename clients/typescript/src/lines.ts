// Splits a byte stream into lines of bounded length.

/** Collects chunks and yields whole lines; throws if a line exceeds the bound. */
export class Lines {
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(private readonly bytesMax: number) {}

  /** The lines that `chunk` completes, without line ends; skips empty ones. */
  *push(chunk: Buffer): Generator<string> {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, end));
      from = end + 1;
      const line = Buffer.concat(this.#parts, this.#bytes).toString("utf8").trim();
      this.#parts = [];
      this.#bytes = 0;
      if (line) yield line;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > this.bytesMax) throw new RangeError(`a line has more than ${this.bytesMax} bytes`);
    this.#parts.push(part);
  }
}

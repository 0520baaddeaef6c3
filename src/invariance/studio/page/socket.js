/** The WebSocket: requests with promises, events, binary frames; it connects again by itself. */

/** A reply that takes longer than this many milliseconds is reported; the request is not repeated. */
const REPLY_TIMEOUT = 60_000;
const FIRST_RETRY = 300;
const LAST_RETRY = 4000;

/** An error that the server explained in a sentence, or the loss of the line. */
export class RequestError extends Error {}

/**
 * Split a binary frame into its header and its payload: uint32 length of the header, header as JSON, payload.
 * @param {ArrayBuffer} buffer
 * @returns {{header: object, payload: Uint8Array}}
 */
export function parseFrame(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return { header, payload: new Uint8Array(buffer, 4 + length) };
}

export class Socket {
  /**
   * @param {string} address
   * @param {{onLine: (line: "open"|"lost") => void}} handlers told when the line opens and when it is lost
   */
  constructor(address, handlers) {
    this.address = address;
    this.handlers = handlers;
    this.next = 1;
    this.retry = FIRST_RETRY;
    /** Requests without a reply, by their id. @type {Map<number, {resolve: Function, reject: Function, timer: number}>} */
    this.waiting = new Map();
    /** @type {Map<string, Set<Function>>} */
    this.listeners = new Map();
    this.connect();
  }

  connect() {
    this.line = new WebSocket(this.address);
    this.line.binaryType = "arraybuffer";
    this.line.addEventListener("open", () => {
      this.retry = FIRST_RETRY;
      this.handlers.onLine("open");
    });
    this.line.addEventListener("message", (message) => this.receive(message.data));
    this.line.addEventListener("close", () => this.lose());
  }

  get isOpen() {
    return this.line.readyState === WebSocket.OPEN;
  }

  lose() {
    for (const { reject, timer } of this.waiting.values()) {
      clearTimeout(timer);
      reject(new RequestError("The studio does not answer. It is tried again; what was saved is safe."));
    }
    this.waiting.clear();
    this.handlers.onLine("lost");
    setTimeout(() => this.connect(), this.retry);
    this.retry = Math.min(this.retry * 1.6, LAST_RETRY);
  }

  /**
   * Send a request.
   * @param {string} what the name of the request, its `do`
   * @param {object} [fields]
   * @returns {Promise<object>} the reply; rejected with the sentence of the server
   */
  request(what, fields = {}) {
    if (!this.isOpen) return Promise.reject(new RequestError("The studio does not answer. Is its command still running?"));
    const id = this.next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new RequestError(`The studio did not answer "${what}" within a minute.`));
      }, REPLY_TIMEOUT);
      this.waiting.set(id, { resolve, reject, timer });
      this.line.send(JSON.stringify({ ...fields, id, do: what }));
    });
  }

  /**
   * Listen to an event of the server, or to binary frames of a kind as `frame:KIND`.
   * @param {string} name
   * @param {(data: object, payload?: Uint8Array) => void} run
   * @returns {() => void} stops listening
   */
  on(name, run) {
    if (!this.listeners.has(name)) this.listeners.set(name, new Set());
    this.listeners.get(name).add(run);
    return () => this.listeners.get(name).delete(run);
  }

  receive(data) {
    if (data instanceof ArrayBuffer) {
      const { header, payload } = parseFrame(data);
      this.tell(`frame:${header.kind}`, header, payload);
      return;
    }
    const message = JSON.parse(data);
    if ("event" in message) this.tell(message.event, message);
    else this.answer(message);
  }

  tell(name, data, payload) {
    for (const run of this.listeners.get(name) ?? []) run(data, payload);
  }

  answer(message) {
    const asked = this.waiting.get(message.reply);
    if (!asked) return;
    this.waiting.delete(message.reply);
    clearTimeout(asked.timer);
    if (message.ok) asked.resolve(message);
    else asked.reject(new RequestError(message.error));
  }
}

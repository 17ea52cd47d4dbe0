// What breaks a rule of the schema.

/** A rule of the schema that a write breaks; nothing of the transaction is kept. */
export class WriteError extends Error {
  name = "WriteError";

  constructor(code, message, details = {}) {
    super(message);
    this.code = code;
    Object.assign(this, details);
  }
}

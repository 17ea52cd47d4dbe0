// What keeps a store from reading or writing its storage.

/** Why a store does nothing more. */
export const replacedReason = "Another version of this app has opened the database. Load the page again.";

/** The storage can't be used by this version of the app. */
export class StoreError extends Error {
  name = "StoreError";

  /** @param code `database-is-newer` */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

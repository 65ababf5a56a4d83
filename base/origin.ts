// Where a request comes from, as far as the audit log keeps it.

export interface Origin {
  /** The peer's IP address, or what a trusted proxy says it is; "" for the server itself and its commands. */
  readonly address: string;
  /** The User-Agent header, cut and cleaned; for a command its name. */
  readonly userAgent: string;
}

/** A request by its id, and where it came from. */
export interface RequestSource {
  readonly origin: Origin;
  /** The x-request-id of its answer; "" for a command. */
  readonly requestId: string;
}

/** The server itself. */
export const ownOrigin: Origin = Object.freeze({ address: "", userAgent: "" });

// Where a request comes from, as far as the audit log keeps it.

export interface Origin {
  /** The peer's IP address, or what a trusted proxy says of it; "" for the server itself and its commands. */
  readonly address: string;
  /** The User-Agent header, cut and cleaned; for a command its name. */
  readonly userAgent: string;
}

/** Which request somebody came by, and from where. */
export interface RequestSource {
  readonly origin: Origin;
  /** As its answer names it; "" for a command. */
  readonly requestId: string;
}

/** The server itself. */
export const ownOrigin: Origin = Object.freeze({ address: "", userAgent: "" });

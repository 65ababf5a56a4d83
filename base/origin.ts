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

/**
 * Whom an address, written as Origin has it, stands for: itself in IPv4, its network of 64 bits in IPv6, of which a single
 * host has all addresses.
 */
export const networkOf = (address: string): string => {
  if (!address.includes(":")) return address;
  const [head = [], tail] = address.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const zeros = tail === undefined ? 0 : 8 - head.length - tail.length;
  return [...head, ...Array.from({ length: zeros }, () => "0"), ...(tail ?? [])].slice(0, 4).join(":");
};

/** The server itself. */
export const ownOrigin: Origin = Object.freeze({ address: "", userAgent: "" });

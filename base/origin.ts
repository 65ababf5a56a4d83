// The origin of a request, as the audit log records it.

export interface Origin {
  /** IP address of the peer, or the client address that a trusted proxy forwards; "" for the server itself and its commands. */
  readonly address: string;
  /** The User-Agent header, sanitized and cut; the name of a command. */
  readonly userAgent: string;
}

/** The ID of a request and its origin. */
export interface RequestSource {
  readonly origin: Origin;
  /** The x-request-id of its response; "" for a command. */
  readonly requestId: string;
}

/** Returns the network that an Origin address represents: the address itself for IPv4, its /64 for IPv6, all of which one host can use. */
export const networkOf = (address: string): string => {
  if (!address.includes(":")) return address;
  const [head = [], tail] = address.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const zeros = tail === undefined ? 0 : 8 - head.length - tail.length;
  return [...head, ...Array.from({ length: zeros }, () => "0"), ...(tail ?? [])].slice(0, 4).join(":");
};

/** The server itself. */
export const ownOrigin: Origin = Object.freeze({ address: "", userAgent: "" });

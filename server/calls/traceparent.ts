// W3C Trace Context: the header `traceparent`, which says of which trace a request is a part, and whether that is kept. Pure.

export interface TraceParent {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string;
  readonly spanId: string;
  /** Whoever calls keeps the trace. */
  readonly sampled: boolean;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** What a header says; undefined for one that is none (3.2.2.3: it is ignored). Of later versions the parts of this one are read. */
export const readTraceparent = (header: string | undefined): TraceParent | undefined => {
  // Longer than any version that is known, and not looked at: two joined by a proxy, or a flood.
  if (header === undefined || header.length > 256) return undefined;
  const [, version = "", traceId = "", spanId = "", flags = "", more] = form.exec(header) ?? [];
  if (version === "" || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
};

/** The header of what is kept. */
export const traceparentOf = ({ traceId, spanId }: Pick<TraceParent, "traceId" | "spanId">): string => `00-${traceId}-${spanId}-01`;

/**
 * The id of a request that is traced: its trace and its span, so that whatever keeps the id (an event, an entry of the audit log)
 * leads to the trace. The span's part is ours, so that no caller can make a request look like another one.
 */
export const tracedRequestId = ({ traceId, spanId }: Pick<TraceParent, "traceId" | "spanId">): string => `${traceId}${spanId}`;

/** The trace that a request's id tells of; undefined where the request was not traced. */
export const traceOfRequest = (requestId: string): Pick<TraceParent, "traceId" | "spanId"> | undefined =>
  /^[0-9a-f]{48}$/.test(requestId) ? { traceId: requestId.slice(0, 32), spanId: requestId.slice(32) } : undefined;

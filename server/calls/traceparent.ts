// W3C Trace Context: the header `traceparent`. Pure.

export interface TraceParent {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string;
  readonly spanId: string;
  /** The caller records the trace. */
  readonly sampled: boolean;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Parses the header; undefined if malformed (§3.2.2.3: ignored). Later versions are read like this one. */
export const readTraceparent = (header: string | undefined): TraceParent | undefined => {
  // Longer than any known version: joined by a proxy, or an attack.
  if (header === undefined || header.length > 256) return undefined;
  const [, version = "", traceId = "", spanId = "", flags = "", more] = form.exec(header) ?? [];
  if (version === "" || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
};

/** Formats the header of a sampled span. */
export const traceparentOf = ({ traceId, spanId }: Pick<TraceParent, "traceId" | "spanId">): string => `00-${traceId}-${spanId}-01`;

/**
 * Returns the request ID of a traced request, trace and span, so that stored IDs (events, audit entries) lead to the trace. The span
 * is ours, so that callers cannot imitate another request.
 */
export const tracedRequestId = ({ traceId, spanId }: Pick<TraceParent, "traceId" | "spanId">): string => `${traceId}${spanId}`;

/** Parses the trace from a request ID; undefined if the request was not traced. */
export const traceOfRequest = (requestId: string): Pick<TraceParent, "traceId" | "spanId"> | undefined =>
  /^[0-9a-f]{48}$/.test(requestId) ? { traceId: requestId.slice(0, 32), spanId: requestId.slice(32) } : undefined;

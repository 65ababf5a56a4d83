// MCP over streamable HTTP at /mcp, and the metadata for finding the authorization server (RFC 9728).
//
// Host and origin are checked first (DNS rebinding), then the caller and rate limits; only then is the body read. A tool call goes
// through the request pipeline as its caller. There are no sessions to hijack.

import type { Caller } from "#authn";
import type { Endpoint, EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { Fault, invalid, toFault, type Violation } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { furtherNamesOf } from "#base/own-audiences.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { unreadCall } from "#contract/call.ts";
import { readArguments } from "#contract/read.ts";
import type { MethodFact } from "#contract/facts.ts";
import type { Admit, Serve } from "#kernel";
import { readToolsets, type Selection } from "./selection.ts";
import type { ToolAnswer, WriteOptions } from "./tool-answer.ts";

export interface McpEndpointOptions {
  readonly publicUrl: string;
  /** GANTRY_AUDIENCES. */
  readonly audiences: readonly string[];
  /** GANTRY_CORS_ORIGINS. */
  readonly corsOrigins: readonly string[];
  readonly version: string;
  readonly admit: Admit;
  readonly serve: Serve;
  /** Returns the body of an error, and logs its internal details. */
  readonly refusalOf: (fault: Fault, about: { readonly domain: string; readonly call: string; readonly requestId: string }) => JsonObject;
  /** Parses JSON within the limits of all messages. */
  readonly parse: (text: string) => { readonly body: JsonObject | Json[] | undefined; readonly problems: readonly Violation[] };
}

const mcpPath = "/mcp";
const metadataPath = "/.well-known/oauth-protected-resource";

/** "/mcp", "/mcp/iam,registry", "/mcp/write", "/mcp/iam/write" */
const pathForm = /^\/mcp(?:\/(?!write$)([a-z,]{1,200}))?(\/write)?$/;

const jsonHeaders = { "content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** For messages that do not reach the SDK. */
const protocolError = (status: number, code: number, message: string, id: Json): EndpointAnswer => ({
  status,
  headers: jsonHeaders,
  body: JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }),
});

/** Numeric addresses involve no DNS, so rebinding cannot affect them. */
const isAddressOrLocal = (name: string): boolean => name === "localhost" || name.startsWith("[") || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(name);

const hostNameOf = (authority: string): string | undefined => URL.parse(`http://${authority}`)?.hostname;

/** Throws PERMISSION_DENIED for requests to another host or from a foreign origin. */
const addressGuard = ({ publicUrl, audiences, corsOrigins }: McpEndpointOptions): ((request: EndpointRequest) => void) => {
  const own = new URL(publicUrl);
  const names = new Set([own.hostname, ...furtherNamesOf(audiences)]);
  const origins = new Set([own.origin, ...corsOrigins.map((origin) => withoutTrailing(origin, "/"))]);
  return ({ headers: { origin }, headerOf }) => {
    const name = hostNameOf(headerOf("host") ?? "");
    if (name === undefined || !(isAddressOrLocal(name) || names.has(name)))
      throw new Fault("PERMISSION_DENIED", `the Host header does not match this server, ${own.host} (GANTRY_PUBLIC_URL, GANTRY_AUDIENCES)`);
    if (origin !== undefined && !origins.has(origin))
      throw new Fault("PERMISSION_DENIED", "requests from pages of this origin are not allowed (GANTRY_CORS_ORIGINS)");
  };
};

const isTrue = (request: EndpointRequest, name: string): boolean => {
  const value = request.headerOf(name)?.trim().toLowerCase();
  if (value === undefined || value === "" || value === "false") return false;
  if (value === "true") return true;
  throw invalid([{ field: name, description: "must be true or false" }]);
};

const selectionOf = (request: EndpointRequest, [, sets, write]: RegExpExecArray): Selection => ({
  ...readToolsets(sets ?? request.headerOf("gantry-toolsets")),
  writes: write !== undefined || isTrue(request, "gantry-write"),
});

interface Exchange {
  readonly options: McpEndpointOptions;
  readonly request: EndpointRequest;
  readonly caller: Caller;
  readonly selection: Selection;
  /** Ends the exchange with an HTTP status instead of a protocol response. */
  failure: Fault | undefined;
}

/** The client can request a wider token. */
const isNarrower = ({ capabilities }: Caller, method: MethodFact): boolean =>
  capabilities !== undefined && method.capabilities.some((name) => !capabilities.includes(name));

const callInProcess = async (
  exchange: Exchange,
  method: MethodFact,
  given: JsonObject,
  { validateOnly, idempotencyKey }: WriteOptions,
): Promise<ToolAnswer> => {
  const { options, request, caller } = exchange;
  const { origin, requestId } = request;
  const reading = (): ReturnType<typeof readArguments> & { validateOnly: boolean } => ({ ...readArguments(method, given), validateOnly });
  try {
    const headers = { requestId, origin: () => origin, idempotencyKey, requestInUrl: () => readArguments(method, given).request };
    const { message, headers: answered = {} } = await options.serve(unreadCall(method, headers, reading), caller);
    return { message, headers: answered };
  } catch (thrown) {
    const fault = toFault(thrown);
    if (fault.code === "UNAUTHENTICATED") exchange.failure = fault;
    if (fault.code === "PERMISSION_DENIED" && isNarrower(caller, method)) exchange.failure = insufficientScope(method, fault);
    return { code: fault.code, refusal: options.refusalOf(fault, { domain: method.domain, call: method.name, requestId }) };
  }
};

const insufficientScope = (method: MethodFact, cause: Fault): Fault =>
  new Fault("PERMISSION_DENIED", cause.message, {
    cause,
    details: cause.details,
    headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${method.capabilities.join(" ")}"` },
  });

const exchangeMessage = async (exchange: Exchange, body: JsonObject): Promise<EndpointAnswer> => {
  const { options, request, selection } = exchange;
  const [{ createMcpHandler }, { newMcpServer }] = await Promise.all([import("@modelcontextprotocol/server"), import("./server.ts")]);
  const handler = createMcpHandler(
    () => newMcpServer({ version: options.version, selection, call: (method, given, how) => callInProcess(exchange, method, given, how) }),
    // Responses are sent whole, without progress events.
    { keepAliveMs: 0 },
  );
  try {
    const named = ["accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"].flatMap((name): [string, string][] => {
      const value = request.headerOf(name);
      return value === undefined ? [] : [[name, value]];
    });
    const answer = await handler.fetch(new Request(`${options.publicUrl}${mcpPath}`, { method: "POST", headers: named }), { parsedBody: body });
    const type = answer.headers.get("content-type");
    return { status: answer.status, headers: { ...jsonHeaders, ...(type === null ? {} : { "content-type": type }) }, body: await answer.text() };
  } finally {
    await handler.close();
  }
};

const answerMessage = async (exchange: Exchange): Promise<EndpointAnswer> => {
  const text = await exchange.request.readText();
  // Only revision 2025-03-26 has batches; one request counts once against the rate limit.
  if (/^\s*\[/.test(text)) return protocolError(400, -32_600, "the body must be one JSON-RPC message: batches are not supported", null);
  const { body, problems } = exchange.options.parse(text);
  if (problems[0] || !isObject(body)) return protocolError(400, -32_700, `the body ${problems[0]?.description ?? "is empty"}`, null);
  // Nothing changes while a client listens.
  if (body.method === "subscriptions/listen") return protocolError(404, -32_601, "this server does not offer an event stream", body.id ?? null);
  const answer = await exchangeMessage(exchange, body);
  if (exchange.failure) throw exchange.failure;
  return answer;
};

/** Returns the endpoint of a path below /mcp or of its metadata, if any. */
export const openMcp = (options: McpEndpointOptions): ((path: string) => Endpoint | undefined) => {
  const bare = withoutTrailing(options.publicUrl, "/");
  const requireAddress = addressGuard(options);
  /** For all paths of /mcp. */
  const audience = `${bare}${mcpPath}`;

  const withChallenge = (path: string, fault: Fault): Fault => {
    const { "www-authenticate": challenge = "Bearer", ...headers } = fault.headers;
    const separator = challenge === "Bearer" ? " " : ", ";
    return new Fault(fault.code, fault.message, {
      cause: fault,
      details: fault.details,
      headers: { ...headers, "www-authenticate": `${challenge}${separator}resource_metadata="${bare}${metadataPath}${path}"` },
    });
  };

  const metadata = (path: string): Endpoint => ({
    name: metadataPath,
    GET: async () => ({
      status: 200,
      headers: { "content-type": "application/json", "cache-control": "public, max-age=3600", "x-content-type-options": "nosniff" },
      body: JSON.stringify({
        resource: `${bare}${path}`,
        authorization_servers: [options.publicUrl],
        bearer_methods_supported: ["header"],
        resource_name: "Gantry",
        resource_documentation: `${bare}/docs/guides/mcp`,
      }),
    }),
  });

  return (path) => {
    // The root form, which clients try by default, describes the same resource.
    if (path === metadataPath) return metadata(mcpPath);
    const below = path.startsWith(`${metadataPath}/`) ? path.slice(metadataPath.length) : undefined;
    const found = pathForm.exec(below ?? path);
    if (!found) return undefined;
    if (below !== undefined) return metadata(below);
    return {
      name: "mcp",
      textBytesMax: limits.bodyBytesMax,
      POST: async (request) => {
        requireAddress(request);
        try {
          const caller = await options.admit(audience, request.headers.authorization, request.origin);
          return await answerMessage({ options, request, caller, selection: selectionOf(request, found), failure: undefined });
        } catch (thrown) {
          const fault = toFault(thrown);
          throw fault.code === "UNAUTHENTICATED" || fault.headers["www-authenticate"] !== undefined ? withChallenge(path, fault) : fault;
        }
      },
    };
  };
};

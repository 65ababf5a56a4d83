// MCP over streamable HTTP, at /mcp on the one port, and the metadata by which clients find out where to sign in (RFC 9728).
//
// In this order: which host and which page ask (a browser that was led here by a changed name, DNS rebinding, says so), who asks and
// whether more may be asked, and only then is anything read. A tool's call is a call of the request pipeline, as its caller.
// Nothing is kept between two requests, of older clients neither: there are no sessions that could be taken over.

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
  /** Further names of this server, besides the public URL's host: GANTRY_AUDIENCES. */
  readonly audiences: readonly string[];
  /** Origins whose pages may call: GANTRY_CORS_ORIGINS. */
  readonly corsOrigins: readonly string[];
  readonly version: string;
  readonly admit: Admit;
  readonly serve: Serve;
  /** The body of an error, as every protocol shows it, and logs what only the log may know. */
  readonly refusalOf: (fault: Fault, about: { readonly domain: string; readonly call: string; readonly requestId: string }) => JsonObject;
  /** A JSON text within the bounds of every message. */
  readonly parse: (text: string) => { readonly body: JsonObject | Json[] | undefined; readonly problems: readonly Violation[] };
}

const mcpPath = "/mcp";
const metadataPath = "/.well-known/oauth-protected-resource";

/** "/mcp", "/mcp/iam,registry", "/mcp/write", "/mcp/iam/write" */
const pathForm = /^\/mcp(?:\/(?!write$)([a-z,]{1,200}))?(\/write)?$/;

const jsonHeaders = { "content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** An error of JSON-RPC about a message that no server of the SDK sees. */
const protocolError = (status: number, code: number, message: string, id: Json): EndpointAnswer => ({
  status,
  headers: jsonHeaders,
  body: JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }),
});

/** An address that was written as numbers was not looked up, so nobody can have changed what its name stands for. */
const isAddressOrLocal = (name: string): boolean => name === "localhost" || name.startsWith("[") || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(name);

const hostNameOf = (authority: string): string | undefined => URL.parse(`http://${authority}`)?.hostname;

/** Which requests may have been meant for this server. Throws PERMISSION_DENIED for any other. */
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
  /** What ends the exchange with a status of HTTP, whatever the protocol would say. */
  failure: Fault | undefined;
}

/** The caller's token is not enough for the operation, whatever its identity may do: another one can be asked for. */
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

/** One message to the SDK, and its answer. */
const exchangeMessage = async (exchange: Exchange, body: JsonObject): Promise<EndpointAnswer> => {
  const { options, request, selection } = exchange;
  const [{ createMcpHandler }, { newMcpServer }] = await Promise.all([import("@modelcontextprotocol/server"), import("./server.ts")]);
  const handler = createMcpHandler(
    () => newMcpServer({ version: options.version, selection, call: (method, given, how) => callInProcess(exchange, method, given, how) }),
    // Every answer is whole when it is sent: nothing is told while a tool is at work.
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

/** Reads the one message of the request, and has it answered. */
const answerMessage = async (exchange: Exchange): Promise<EndpointAnswer> => {
  const text = await exchange.request.readText();
  // Batches were of one revision (2025-03-26), and no later one has them: one request is one of the caller's share.
  if (/^\s*\[/.test(text)) return protocolError(400, -32_600, "the body must be one JSON-RPC message: batches are not supported", null);
  const { body, problems } = exchange.options.parse(text);
  if (problems[0] || !isObject(body)) return protocolError(400, -32_700, `the body ${problems[0]?.description ?? "is empty"}`, null);
  // Nothing here changes while a client listens.
  if (body.method === "subscriptions/listen") return protocolError(404, -32_601, "this server does not offer an event stream", body.id ?? null);
  const answer = await exchangeMessage(exchange, body);
  if (exchange.failure) throw exchange.failure;
  return answer;
};

/** The endpoint of a path below /mcp, or of its metadata; undefined for any other. */
export const openMcp = (options: McpEndpointOptions): ((path: string) => Endpoint | undefined) => {
  const bare = withoutTrailing(options.publicUrl, "/");
  const requireAddress = addressGuard(options);
  /** What tokens for /mcp have as their audience, whichever of its paths they are used at. */
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
    // The root form, which clients try where they were told of none, is about the same resource.
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

// Responds to "/": redirects browsers to the docs, and lists endpoints for programs.

import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { escapeHtml } from "#base/html.ts";
import { goTo, jsonAnswer } from "./answers.ts";

const addresses = {
  openapi: { path: "/openapi.json", what: "the whole API as OpenAPI 3.1; /openapi/{domain}.json has one domain" },
  docs: { path: "/docs", what: "these pages" },
  health: { path: "/healthz", what: "the process answers" },
  readiness: { path: "/readyz", what: "the server can do its work" },
  discovery: { path: "/.well-known/openid-configuration", what: "the issuer of its tokens, with the addresses for signing in" },
  registry: { path: "/v2/", what: "the container registry (OCI Distribution)" },
  mcp: { path: "/mcp", what: "the operations as tools (Model Context Protocol)" },
} as const;

/** gRPC shares the port. */
const grpc = { reflection: "grpc.reflection.v1.ServerReflection", health: "grpc.health.v1.Health" };

const isPerson = ({ headers }: EndpointRequest): boolean => /\btext\/html\b/i.test(headers.accept ?? "");

export const answerEntrance = (request: EndpointRequest, version: string, publicUrl: string): EndpointAnswer => {
  if (isPerson(request)) return goTo("/docs", "accept");
  const base = publicUrl.replace(/\/$/, "");
  const told = Object.fromEntries(Object.entries(addresses).map(([name, { path }]) => [name, base + path]));
  return jsonAnswer({ name: "gantry", version, ...told, grpc }, { vary: "accept" });
};

export const addressesHtml = (): string =>
  `<dl class="fields">${Object.values(addresses)
    .map(({ path, what }) => `<dt><a href="${path}" data-reload><code>${path}</code></a></dt><dd>${escapeHtml(what)}</dd>`)
    .join("")}<dt>gRPC</dt><dd>on the same port, with reflection (<code>${grpc.reflection}</code>) and health (<code>${grpc.health}</code>)</dd></dl>`;

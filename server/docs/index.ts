// Public docs pages: guides, reference with a request form, and search (docs/decisions/0045). They need only the OpenAPI documents,
// and are loaded at the first request.

import type { Endpoint, EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { limits } from "#base/limits.ts";
import type { OpenApiSource } from "./document.ts";
import type { AnswerPage } from "./pages.ts";

export type { OpenApiSource } from "./document.ts";

/** `requests`: how many the endpoint counts as. */
interface DocsEndpoint extends Endpoint {
  readonly requests: number;
}

export interface DocsOptions {
  readonly source: OpenApiSource;
  readonly version: string;
  readonly publicUrl: string;
  readonly hasConsole: boolean;
}

const reads = (answer: (request: EndpointRequest) => Promise<EndpointAnswer>, requests = 1): DocsEndpoint => ({ GET: answer, requests });

/** Returns the endpoint of a docs path, "/" or the favicon; undefined for any other path. */
export const openDocs = ({ source, version, publicUrl, hasConsole }: DocsOptions): ((path: string) => DocsEndpoint | undefined) => {
  let pages: Promise<AnswerPage> | undefined;
  const page = (path: string): DocsEndpoint =>
    reads(
      async (request) => {
        pages ??= import("./pages.ts").then(({ openPages }) => openPages(source, { issuer: publicUrl, hasConsole }));
        return (await pages)(path, request);
      },
      path.startsWith("/docs/files/") ? 1 : limits.docsPageRequests,
    );
  return (path) => {
    if (path === "/") return reads(async (request) => (await import("./entrance.ts")).answerEntrance(request, version, publicUrl));
    if (path === "/favicon.ico") {
      return reads(async () => {
        const [{ iconFile }, { fileAnswer }] = await Promise.all([import("./files.ts"), import("./answers.ts")]);
        return fileAnswer(iconFile.type, iconFile.text, "public, max-age=86400");
      });
    }
    if (path === "/docs/") return reads(async () => (await import("./answers.ts")).goTo("/docs"));
    return path === "/docs" || path.startsWith("/docs/") ? page(path) : undefined;
  };
};

// The docs pages: guides, reference with requests to try, search (docs/decisions/0045). They are open to everybody, as what
// they say is, and need nothing of the server but its OpenAPI documents.
//
// Everything behind a path is loaded when somebody first asks for one: a server without readers has none of it in memory.

import type { Endpoint, EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { limits } from "#base/limits.ts";
import type { OpenApiSource } from "./document.ts";
import type { AnswerPage } from "./pages.ts";

export type { OpenApiSource } from "./document.ts";

/** An endpoint, and for how many requests it counts. */
interface DocsEndpoint extends Endpoint {
  readonly requests: number;
}

export interface DocsOptions {
  readonly source: OpenApiSource;
  readonly version: string;
  readonly publicUrl: string;
}

const get = (answer: (request: EndpointRequest) => Promise<EndpointAnswer>, requests = 1): DocsEndpoint => ({ GET: answer, requests });

/** The endpoint at a path of the docs, at "/" and at a browser's favicon; undefined at every other. */
export const openDocs = ({ source, version, publicUrl }: DocsOptions): ((path: string) => DocsEndpoint | undefined) => {
  let pages: Promise<AnswerPage> | undefined;
  const page = (path: string): DocsEndpoint =>
    get(
      async (request) => {
        pages ??= import("./pages.ts").then(({ openPages }) => openPages(source, publicUrl));
        return (await pages)(path, request);
      },
      path.startsWith("/docs/files/") ? 1 : limits.docsPageRequests,
    );
  return (path) => {
    if (path === "/") return get(async (request) => (await import("./entrance.ts")).answerEntrance(request, version, publicUrl));
    if (path === "/favicon.ico") {
      return get(async () => {
        const [{ iconFile }, { fileAnswer }] = await Promise.all([import("./files.ts"), import("./answers.ts")]);
        return fileAnswer(iconFile.type, iconFile.text, "public, max-age=86400");
      });
    }
    if (path === "/docs/") return get(async () => (await import("./answers.ts")).goTo("/docs"));
    return path === "/docs" || path.startsWith("/docs/") ? page(path) : undefined;
  };
};

// Converts a reply to the protocol's response: status and headers by the operation's response message (oci: 2).

import { type JsonObject, text, texts } from "#base/json.ts";
import type { Reply, ReplyContent } from "#kernel";
import { headerOf, type HttpRequest, type HttpResponse } from "../http-message.ts";
import type { DistributionMatch } from "./route.ts";

type Respond = (
  request: HttpRequest,
  match: DistributionMatch,
  reply: Reply,
) => Promise<Omit<HttpResponse, "headers"> & { readonly headers: readonly string[] }>;

// Relative, so that proxies determine scheme and host (oci: 7).
const pathOf = ({ name }: DistributionMatch, rest: string): string => `/v2/${name}/${rest}`;

const uploadHeaders = (match: DistributionMatch, upload: string, sizeBytes: number): string[] => [
  "location",
  pathOf(match, `blobs/uploads/${upload}`),
  "docker-upload-uuid",
  upload,
  // Also if empty: clients fail without it, and with "0--1" (oci: 7).
  "range",
  `0-${Math.max(sizeBytes - 1, 0)}`,
];

const linkTo = (path: string, query: Readonly<Record<string, string>>): string[] => {
  const parameters = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
  return ["link", `<${path}?${parameters.toString()}>; rel="next"`];
};

const nextLink = (match: DistributionMatch, rest: string, query: Readonly<Record<string, string>>): string[] => linkTo(pathOf(match, rest), query);

const queryOf = ({ target }: HttpRequest): URLSearchParams => new URLSearchParams(target.includes("?") ? target.slice(target.indexOf("?") + 1) : "");

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Restarts the timeout whenever the next chunk is requested, because then the peer has taken the previous one. */
const watched = (request: HttpRequest, pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]() {
    const source = pieces[Symbol.asyncIterator]();
    return {
      next() {
        request.progress();
        return source.next();
      },
      return: async () => (await source.return?.()) ?? { value: undefined, done: true },
    };
  },
});

const matchesDigest = (header: string | undefined, digest: string): boolean =>
  header !== undefined && (header.trim() === "*" || header.split(",").some((each) => each.trim().replace(/^W\//, "") === `"${digest}"`));

const contentResponse = async (request: HttpRequest, { message }: Reply, content: ReplyContent, headers: readonly string[]) => {
  const digest = text(message, "digest");
  const { range, sizeBytes, elsewhere } = content;
  const shared = [...headers, ...(digest === "" ? [] : ["docker-content-digest", digest, "etag", `"${digest}"`])];
  if (digest !== "" && matchesDigest(headerOf(request, "if-none-match"), digest)) return { status: 304, headers: shared, body: "" };
  // 307 keeps the verb; the target does not know the digest.
  if (elsewhere !== undefined && request.verb !== "HEAD") return { status: 307, headers: [...shared, "location", elsewhere], body: "" };
  const length = range ? range.endBytes - range.startBytes : sizeBytes;
  const own = [
    "content-type",
    content.type,
    ...(range ? ["content-range", `bytes ${range.startBytes}-${range.endBytes - 1}/${sizeBytes}`] : []),
    "content-length",
    String(length),
  ];
  const status = range ? 206 : 200;
  if (request.verb === "HEAD") return { status, headers: [...shared, ...own], body: nothing() };
  const body = await content.open();
  // The sender adds a text's length.
  if (typeof body === "string") return { status, headers: [...shared, ...own.slice(0, -2)], body };
  return { status, headers: [...shared, ...own], body: watched(request, body) };
};

const respondContent: Respond = async (request, match, reply) => {
  const { message, content } = reply;
  if (!content) throw new Error(`${match.method.name} gives content, and there is none`);
  const filters = texts(message, "filters");
  const next = text(message, "next");
  const type = queryOf(request).get("artifactType") ?? "";
  const isBlob = match.method.input.byName.has("range");
  return contentResponse(request, reply, content, [
    ...(isBlob ? ["accept-ranges", "bytes"] : []),
    ...(filters.length > 0 ? ["oci-filters-applied", filters.join(",")] : []),
    ...(next === "" ? [] : nextLink(match, `referrers/${match.fields.get("digest") ?? ""}`, { last: next, artifactType: type })),
  ]);
};

interface TagsBody {
  readonly repo: string;
  readonly bytes: Buffer;
}

/** By list: long ones are cached (resources/registry/distribution/tag-lists.ts), and so are their responses. */
const tagsBodies = new WeakMap<object, TagsBody>();

const tagsBody = (repo: string, { tags }: JsonObject): Buffer => {
  const list = Array.isArray(tags) ? tags : [];
  const known = tagsBodies.get(list);
  if (known?.repo === repo) return known.bytes;
  const bytes = Buffer.from(`{"name":${JSON.stringify(repo)},"tags":${JSON.stringify(list)}}`);
  tagsBodies.set(list, { repo, bytes });
  return bytes;
};

const respondTags: Respond = async (request, match, { message }) => {
  const next = text(message, "next");
  return {
    status: 200,
    headers: ["content-type", "application/json", ...(next === "" ? [] : nextLink(match, "tags/list", { n: queryOf(request).get("n") ?? "", last: next }))],
    body: tagsBody(match.fields.get("repo") ?? "", message),
  };
};

const respondCatalog: Respond = async (request, _match, { message }) => {
  const next = text(message, "next");
  return {
    status: 200,
    headers: ["content-type", "application/json", ...(next === "" ? [] : linkTo("/v2/_catalog", { n: queryOf(request).get("n") ?? "", last: next }))],
    body: JSON.stringify({ repositories: texts(message, "repositories") }),
  };
};

const respondPush: Respond = async (_request, match, { message }) => {
  const upload = text(message, "upload");
  if (upload !== "") return { status: 202, headers: uploadHeaders(match, upload, 0), body: "" };
  const digest = text(message, "digest");
  const subject = text(message, "subject");
  const tags = texts(message, "tags");
  return {
    status: 201,
    headers: [
      "location",
      pathOf(match, `${text(message, "type")}s/${digest}`),
      "docker-content-digest",
      digest,
      "etag",
      `"${digest}"`,
      ...(subject === "" ? [] : ["oci-subject", subject]),
      ...(tags.length === 0 ? [] : ["oci-tag", tags.join(", ")]),
    ],
    body: "",
  };
};

const respondUpload: Respond = async (request, match, { message }) => ({
  status: request.verb === "PATCH" ? 202 : 204,
  headers: uploadHeaders(match, text(message, "upload"), Number(text(message, "sizeBytes") || "0")),
  body: "",
});

const respondEmpty: Respond = async (request, { fields }) => {
  if (request.verb !== "DELETE") return { status: 200, headers: ["content-type", "application/json"], body: "{}" };
  return { status: fields.has("upload") ? 204 : 202, headers: [], body: "" };
};

const responses: Readonly<Record<string, Respond>> = {
  "gantry.registry.v1.StoredContent": respondContent,
  "gantry.registry.v1.ListCatalogResponse": respondCatalog,
  "gantry.registry.v1.ListRepoTagsResponse": respondTags,
  "gantry.registry.v1.Push": respondPush,
  "gantry.registry.v1.Upload": respondUpload,
  "google.protobuf.Empty": respondEmpty,
};

/** Returns the response of a successful request. `headers`: headers of every response. */
export const distributionResponse = async (request: HttpRequest, match: DistributionMatch, reply: Reply, headers: readonly string[]): Promise<HttpResponse> => {
  const respond = responses[match.method.output.name];
  if (!respond) throw new Error(`${match.method.name} has no answer in the protocol`);
  const response = await respond(request, match, reply);
  return { ...response, headers: [...response.headers, ...headers] };
};

/** Returns the location of an upload, for the response to a rejected chunk. */
export const uploadLocation = (match: DistributionMatch): JsonObject => {
  const upload = match.fields.get("upload");
  return upload === undefined ? {} : { location: pathOf(match, `blobs/uploads/${upload}`) };
};

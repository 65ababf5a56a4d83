// GANTRY_BLOBS: a folder or an S3 bucket. Kept apart from the blob store, so that a command that needs no server does not load
// it.

import { Fault } from "./fault.ts";
import { withoutTrailing } from "./trailing.ts";

export type BlobsSetting =
  | { readonly kind: "file"; readonly folder: string }
  | {
      readonly kind: "s3";
      readonly bucket: string;
      readonly prefix: string;
      readonly region: string;
      readonly endpoint: string | undefined;
      readonly redirectEndpoint: string | undefined;
      readonly pathStyle: boolean;
    };

const wrong = (reason: string): Fault => new Fault("FAILED_PRECONDITION", `GANTRY_BLOBS ${reason}`);

const parameters: ReadonlySet<string> = new Set(["region", "endpoint", "redirect-endpoint", "path-style"]);

const readEndpoint = (name: string, value: string | null): string | undefined => {
  if (value === null) return undefined;
  const url = URL.parse(value);
  if (!url || !["http:", "https:"].includes(url.protocol) || url.pathname !== "/" || url.search || url.hash || url.username || url.password)
    throw wrong(`names as ${name} no http or https address of a host alone: ${JSON.stringify(value)}`);
  return url.origin;
};

const readBucket = (value: string): BlobsSetting => {
  const [, bucket, path = "", query = ""] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9!_.*'()/-]*))?(?:\?(.*))?$/.exec(value) ?? [];
  if (bucket === undefined) throw wrong(`must be s3://BUCKET/PREFIX?region=…, not ${JSON.stringify(value)}`);
  const given = new URLSearchParams(query);
  for (const name of given.keys()) if (!parameters.has(name)) throw wrong(`has ${JSON.stringify(name)}; there are ${[...parameters].join(", ")}`);
  const endpoint = readEndpoint("endpoint", given.get("endpoint"));
  const region = given.get("region") ?? "us-east-1";
  if (!/^[a-z0-9-]{1,64}$/.test(region)) throw wrong(`names no region: ${JSON.stringify(region)}`);
  const pathStyle = given.get("path-style") ?? (endpoint === undefined ? "false" : "true");
  if (pathStyle !== "true" && pathStyle !== "false") throw wrong(`has path-style ${JSON.stringify(pathStyle)}, which must be true or false`);
  const prefix = withoutTrailing(path, "/");
  if (prefix.split("/").some((part, _, parts) => part === "." || part === ".." || (part === "" && parts.length > 1)))
    throw wrong(`has a prefix with an empty part, "." or ".."`);
  return {
    kind: "s3",
    bucket,
    prefix: prefix === "" ? "" : `${prefix}/`,
    region,
    endpoint,
    redirectEndpoint: readEndpoint("redirect-endpoint", given.get("redirect-endpoint")),
    pathStyle: pathStyle === "true",
  };
};

/** Reads the setting; the default is a folder of the data directory. Throws a Fault. */
export const readBlobsSetting = (value: string | undefined, dataDirectory: string): BlobsSetting => {
  if (value === undefined) return { kind: "file", folder: `${withoutTrailing(dataDirectory, "/")}/blobs` };
  if (value.startsWith("s3:")) return readBucket(value);
  const path = value.startsWith("file:") ? value.slice("file:".length).replace(/^\/\/(?=\/)/, "") : value;
  if (!path.startsWith("/")) throw wrong(`must be an absolute path, file:/PATH or s3://BUCKET/PREFIX, not ${JSON.stringify(value)}`);
  return { kind: "file", folder: withoutTrailing(path, "/") || "/" };
};

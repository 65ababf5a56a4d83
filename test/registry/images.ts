// A registry client for tests: images of random layers, pushed and pulled as clients do.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { digestOf } from "../distribution.ts";
import { configType, imageType, layerType } from "../registry.ts";

export interface RegistryAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

export interface RegistryClient {
  request(method: string, path: string, body?: Uint8Array | string, headers?: Readonly<Record<string, string>>): Promise<RegistryAnswer>;
  /** Pushes in one POST; returns the digest. */
  pushBlob(repo: string, content: Uint8Array): Promise<string>;
  /** Pushes in a session of several PATCHes and a PUT, as docker does. */
  pushBlobInPieces(repo: string, content: Uint8Array, pieceBytes: number): Promise<string>;
  /** Pushes an image of these blobs under a tag or, for "", by digest only; returns its digest. */
  pushManifest(repo: string, tag: string, blobs: readonly { readonly digest: string; readonly size: number }[]): Promise<string>;
  /** Pulls a whole image and checks each digest; throws if content is missing. */
  pull(repo: string, reference: string): Promise<{ readonly blobs: readonly string[] }>;
}

export class RegistryRefusal extends Error {
  readonly status: number;

  constructor(method: string, path: string, status: number, body: Buffer) {
    super(`${method} ${path}: ${status} ${body.toString("utf8").slice(0, 500)}`);
    this.status = status;
  }
}

/** @param token returns the bearer token of each request */
export const openRegistryClient = (url: string, token: () => Promise<string>): RegistryClient => {
  const request: RegistryClient["request"] = async (method, path, body, headers = {}) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${await token()}`, ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : new Uint8Array(body) }),
    });
    return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
  };
  const expecting = async (status: number, ...given: Parameters<RegistryClient["request"]>): Promise<RegistryAnswer> => {
    const answer = await request(...given);
    if (answer.status !== status) throw new RegistryRefusal(given[0], given[1], answer.status, answer.body);
    return answer;
  };
  const octets = { "content-type": "application/octet-stream" };
  return {
    request,
    async pushBlob(repo, content) {
      const digest = digestOf(content);
      await expecting(201, "POST", `/v2/${repo}/blobs/uploads/?digest=${digest}`, content, octets);
      return digest;
    },
    async pushBlobInPieces(repo, content, pieceBytes) {
      let { headers } = await expecting(202, "POST", `/v2/${repo}/blobs/uploads/`);
      for (let from = 0; from < content.byteLength; from += pieceBytes) {
        ({ headers } = await expecting(202, "PATCH", headers.get("location") ?? "", content.subarray(from, from + pieceBytes), octets));
      }
      const digest = digestOf(content);
      await expecting(201, "PUT", `${headers.get("location")}?digest=${digest}`);
      return digest;
    },
    async pushManifest(repo, tag, blobs) {
      const [config, ...layers] = blobs;
      const body = JSON.stringify({
        schemaVersion: 2,
        mediaType: imageType,
        config: { mediaType: configType, ...config },
        layers: layers.map((each) => ({ mediaType: layerType, ...each })),
      });
      const digest = digestOf(Buffer.from(body));
      await expecting(201, "PUT", `/v2/${repo}/manifests/${tag === "" ? digest : tag}`, body, { "content-type": imageType });
      return digest;
    },
    async pull(repo, reference) {
      const manifest = await expecting(200, "GET", `/v2/${repo}/manifests/${reference}`);
      if (reference.includes(":")) assert.equal(digestOf(manifest.body), reference);
      const { config, layers } = JSON.parse(manifest.body.toString("utf8"));
      const blobs: string[] = [];
      for (const { digest, size } of [config, ...layers]) {
        const { body } = await expecting(200, "GET", `/v2/${repo}/blobs/${digest}`);
        assert.equal(body.byteLength, size);
        assert.equal(digestOf(body), digest);
        blobs.push(digest);
      }
      return { blobs };
    },
  };
};

/** Returns a unique image configuration. */
export const newConfig = (): Buffer => Buffer.from(JSON.stringify({ architecture: "amd64", os: "linux", id: randomBytes(8).toString("hex") }));

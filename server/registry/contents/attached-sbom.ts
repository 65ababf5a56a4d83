// The manifest of an SBOM that the server attaches to an image. Pure, and the same for the same document.

import { createHash } from "node:crypto";

/** Names the readers of layers, so that no server reads the document as a pushed SBOM. */
export const attachedSbomAnnotation = "dev.gantry.sbom.reader-version";

const spdxType = "application/spdx+json";
const manifestType = "application/vnd.oci.image.manifest.v1+json";
const emptyType = "application/vnd.oci.empty.v1+json";

const digestOf = (content: Uint8Array): string => `sha256:${createHash("sha256").update(content).digest("hex")}`;

export interface AttachedBlob {
  readonly digest: string;
  readonly content: Uint8Array;
}

export interface AttachedSbomManifest {
  readonly mediaType: string;
  readonly digest: string;
  readonly content: Uint8Array;
  readonly blobs: readonly AttachedBlob[];
}

export interface AttachedDocument {
  /** In JSON. */
  readonly document: string;
  /** Digest and size of the image's manifest. */
  readonly image: { readonly digest: string; readonly mediaType: string; readonly sizeBytes: number };
  readonly createTime: string;
  readonly readerVersion: number;
}

/** Returns an artifact with an empty configuration (OCI image specification 1.1), and the image as its subject. */
export const attachedSbomManifest = ({ document, image, createTime, readerVersion }: AttachedDocument): AttachedSbomManifest => {
  const [config, layer] = [Buffer.from("{}"), Buffer.from(document)];
  const content = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: manifestType,
      artifactType: spdxType,
      config: { mediaType: emptyType, digest: digestOf(config), size: config.length },
      layers: [{ mediaType: spdxType, digest: digestOf(layer), size: layer.length, annotations: { "org.opencontainers.image.title": "sbom.spdx.json" } }],
      subject: { mediaType: image.mediaType, digest: image.digest, size: image.sizeBytes },
      annotations: { "org.opencontainers.image.created": createTime, [attachedSbomAnnotation]: String(readerVersion) },
    }),
  );
  const blobs = [config, layer].map((each) => ({ digest: digestOf(each), content: each }));
  return { mediaType: manifestType, digest: digestOf(content), content, blobs };
};

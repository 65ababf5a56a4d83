// Packs reports for the database.

import { deflateRawSync, inflateRaw } from "node:zlib";
import type { Finding } from "./findings.ts";

/** A report can have several MiB. */
const inflate = (packed: Uint8Array): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    inflateRaw(packed, (error, unpacked) => (error ? reject(error) : resolve(unpacked)));
  });

const packText = (text: string | Uint8Array): string => deflateRawSync(text).toString("base64");

export const packReport = (
  findings: readonly Finding[],
  raw: string | Uint8Array,
): { readonly findings: string; readonly raw: string; readonly rawBytes: number } => ({
  findings: packText(JSON.stringify(findings)),
  raw: packText(raw),
  rawBytes: Buffer.byteLength(raw),
});

const unpackText = async (packed: string): Promise<string> => (await inflate(Buffer.from(packed, "base64"))).toString("utf8");

export const unpackFindings = async (packed: string): Promise<Finding[]> => JSON.parse(await unpackText(packed)) as Finding[];

export const unpackRawReport = unpackText;

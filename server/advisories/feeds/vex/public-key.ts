// Public keys of trusted sources of VEX: which ones are accepted, and how their signatures are verified.

import { constants, createPublicKey, hash, type KeyObject, verify } from "node:crypto";
import { limits } from "#base/limits.ts";

const blockForm = /^-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----$/;

/** By curve: cosign signs with SHA-256 for all of them, other tools with the hash of the curve's size. */
const curveHashes: Readonly<Record<string, readonly string[]>> = { prime256v1: ["sha256"], secp384r1: ["sha384", "sha256"] };

const weaknessOf = ({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject): string | undefined => {
  const { namedCurve = "", modulusLength = 0, publicExponent = 0n } = details;
  if (type === "ed25519") return undefined;
  if (type === "ec") return namedCurve in curveHashes ? undefined : "must be on the curve P-256 or P-384";
  if (type !== "rsa") return "must be an ECDSA, Ed25519 or RSA key";
  if (modulusLength < limits.vexRsaBitsMin || modulusLength > limits.vexRsaBitsMax)
    return `must have ${limits.vexRsaBitsMin} to ${limits.vexRsaBitsMax} bits, not ${modulusLength}`;
  return publicExponent < 65_537n ? "must have a public exponent of at least 65537" : undefined;
};

export type PublicKeyText = { readonly pem: string; readonly fingerprint: string } | { readonly problem: string };

const parseKey = (text: string): KeyObject | undefined => {
  try {
    return createPublicKey({ key: text, format: "pem", type: "spki" });
  } catch {
    return undefined;
  }
};

/** Returns the key in one spelling, or why it is refused. */
export const readPublicKey = (text: string): PublicKeyText => {
  const block = text.trim();
  // From a private key, the library would make the public one.
  if (block.includes("PRIVATE KEY")) return { problem: "must be a public key: this is a private key, do not send it to a server" };
  const key = blockForm.test(block) ? parseKey(block) : undefined;
  if (key === undefined) return { problem: "must be one public key in PEM, beginning with -----BEGIN PUBLIC KEY-----" };
  const problem = weaknessOf(key);
  if (problem !== undefined) return { problem };
  return { pem: key.export({ format: "pem", type: "spki" }).toString(), fingerprint: hash("sha256", key.export({ format: "der", type: "spki" }), "hex") };
};

/** Returns whether the signature is the key's over the message. */
export const isSignedBy = (pem: string, message: Uint8Array, signature: Uint8Array): boolean => {
  const key = createPublicKey(pem);
  if (key.asymmetricKeyType === "ed25519") return verify(null, message, key, signature);
  if (key.asymmetricKeyType === "ec")
    return (curveHashes[key.asymmetricKeyDetails?.namedCurve ?? ""] ?? []).some((algorithm) => verify(algorithm, message, key, signature));
  const { RSA_PKCS1_PADDING, RSA_PKCS1_PSS_PADDING, RSA_PSS_SALTLEN_AUTO } = constants;
  return [RSA_PKCS1_PADDING, RSA_PKCS1_PSS_PADDING].some((padding) =>
    verify("sha256", message, { key, padding, ...(padding === RSA_PKCS1_PSS_PADDING ? { saltLength: RSA_PSS_SALTLEN_AUTO } : {}) }, signature),
  );
};

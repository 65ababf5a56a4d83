// TLS certificate and key of the port, reloaded when the files change or on SIGHUP. New connections get the new certificate; open
// ones continue. An invalid pair leaves the previous one in force.

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { Clock } from "#base/time.ts";
import type { Metrics } from "#metrics";

/** In PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

const problem = (variable: "GANTRY_TLS_CERT" | "GANTRY_TLS_KEY", reason: string, thrown: unknown): Fault =>
  new Fault("FAILED_PRECONDITION", `${variable} ${reason}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);

const unreadable = "must name a readable file";

const checkCertificate = (pair: Certificate): Certificate => {
  // Loaded lazily, because every command reads the settings.
  const { createSecureContext } = process.getBuiltinModule("node:tls");
  try {
    createSecureContext({ cert: pair.cert });
  } catch (error) {
    throw problem("GANTRY_TLS_CERT", "must contain a PEM certificate", error);
  }
  try {
    createSecureContext(pair);
  } catch (error) {
    throw problem("GANTRY_TLS_KEY", "must contain the PEM private key of the certificate in GANTRY_TLS_CERT", error);
  }
  return pair;
};

/** Reads and checks the pair for the settings. Throws a one-line Fault. */
export const readCertificate = ({ certFile, keyFile }: CertificateFiles): Certificate => {
  const read = (variable: "GANTRY_TLS_CERT" | "GANTRY_TLS_KEY", path: string): string => {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      throw problem(variable, unreadable, error);
    }
  };
  return checkCertificate({ cert: read("GANTRY_TLS_CERT", certFile), key: read("GANTRY_TLS_KEY", keyFile) });
};

/** Returns a certificate's facts for the log. */
export const certificateFacts = ({ cert }: Certificate): { names: string; expires: string; fingerprint: string } => {
  const { X509Certificate } = process.getBuiltinModule("node:crypto");
  const { subjectAltName, subject, validTo, fingerprint256 } = new X509Certificate(cert);
  return { names: subjectAltName ?? subject.replaceAll("\n", ", "), expires: new Date(validTo).toISOString(), fingerprint: fingerprint256 };
};

export interface WatchOptions {
  readonly tls: Certificate & CertificateFiles;
  readonly log: Log;
  readonly clock: Clock;
  readonly use: (pair: Certificate) => void;
  readonly metrics?: Metrics | undefined;
  readonly lookMs?: number | undefined;
}

export interface CertificateWatch {
  /** Reloads the files even if unchanged, and logs the result. */
  readonly renew: () => Promise<void>;
  readonly stop: () => void;
}

/**
 * Polls the files by content: times and sizes can stay equal, and events may not arrive (mounted secrets are symlinks, NFS sends
 * none). A change is loaded once two polls agree, because two files are seldom written atomically.
 */
export const watchCertificate = ({ tls, log, clock, use, metrics, lookMs = limits.certificateLookMs }: WatchOptions): CertificateWatch => {
  let expiresMs = Date.parse(certificateFacts(tls).expires);
  metrics?.watch("gantry_certificate_expiry_timestamp_seconds", () => [{ labels: {}, value: expiresMs / 1000 }]);
  const textOf = ({ cert, key }: Certificate): string => JSON.stringify([cert, key]);
  let [seen, judged] = [textOf(tls), textOf(tls)];
  const read = async (): Promise<Certificate | Fault> => {
    const file = (variable: "GANTRY_TLS_CERT" | "GANTRY_TLS_KEY", path: string): Promise<string> =>
      readFile(path, "utf8").catch((error: unknown) => {
        throw problem(variable, unreadable, error);
      });
    try {
      return { cert: await file("GANTRY_TLS_CERT", tls.certFile), key: await file("GANTRY_TLS_KEY", tls.keyFile) };
    } catch (thrown) {
      if (thrown instanceof Fault) return thrown;
      throw thrown;
    }
  };
  const judge = (found: Certificate | Fault): void => {
    try {
      if (found instanceof Fault) throw found;
      const facts = certificateFacts(checkCertificate(found));
      // The previous certificate is better for clients.
      if (Date.parse(facts.expires) <= clock()) throw new Fault("FAILED_PRECONDITION", `GANTRY_TLS_CERT: the certificate has expired: ${facts.expires}`);
      use(found);
      expiresMs = Date.parse(facts.expires);
      log("tls.certificate.read", facts);
    } catch (thrown) {
      log("tls.certificate.failed", { reason: thrown instanceof Error ? thrown.message : String(thrown) });
    }
  };
  const look = async (isTold: boolean): Promise<void> => {
    const found = await read();
    const text = found instanceof Fault ? found.message : textOf(found);
    const isSettled = isTold || text === seen;
    seen = text;
    if (!isSettled || (!isTold && text === judged)) return;
    judged = text;
    judge(found);
  };
  // Serialized, or an older read could win.
  let last: Promise<void> = Promise.resolve();
  const nextLook = (isTold: boolean): Promise<void> => (last = last.then(() => look(isTold)));
  let isLooking = false;
  const timer = setInterval(() => {
    // Skip a poll while one is running.
    if (isLooking) return;
    isLooking = true;
    void nextLook(false).finally(() => {
      isLooking = false;
    });
  }, lookMs);
  timer.unref();
  return { renew: () => nextLook(true), stop: () => clearInterval(timer) };
};

// The certificate that the port speaks TLS with, and its key: read at the start, and again when the files change or when
// somebody says so (SIGHUP). New connections get the new one; those that are open go on. A pair that is no good leaves in
// force what was read before.

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import type { Clock } from "#base/time.ts";

/** Both as PEM. */
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

/** Certificate and key are tried together, so that a wrong pair is told before anybody meets it. Throws a Fault of one line. */
const checkCertificate = (pair: Certificate): Certificate => {
  // Loaded by a server that speaks TLS, and not by each command that reads the settings.
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

/** For the settings, which are read before anything else is done. Throws a Fault of one line. */
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

/** What a log line says of a certificate: nothing of the key. */
export const certificateFacts = ({ cert }: Certificate): { names: string; expires: string; fingerprint: string } => {
  const { X509Certificate } = process.getBuiltinModule("node:crypto");
  const { subjectAltName, subject, validTo, fingerprint256 } = new X509Certificate(cert);
  return { names: subjectAltName ?? subject.replaceAll("\n", ", "), expires: new Date(validTo).toISOString(), fingerprint: fingerprint256 };
};

export interface WatchOptions {
  readonly tls: Certificate & CertificateFiles;
  readonly log: Log;
  readonly clock: Clock;
  /** Takes a pair that was tried into force. */
  readonly use: (pair: Certificate) => void;
  /** How often the files are looked at. */
  readonly lookMs?: number | undefined;
}

export interface CertificateWatch {
  /** Reads the files now, whether they have changed or not, and says in the log what came of it. */
  readonly renew: () => Promise<void>;
  readonly stop: () => void;
}

/**
 * Looks at the files now and then. By what they hold: a time or a size may stay, an event may not come (mounted secrets are
 * links that are turned, NFS tells nothing). What has changed is taken when it is the same at the next look, too: two files
 * are seldom written at once, and half of a new pair is no failure yet.
 */
export const watchCertificate = ({ tls, log, clock, use, lookMs = limits.certificateLookMs }: WatchOptions): CertificateWatch => {
  const textOf = ({ cert, key }: Certificate): string => JSON.stringify([cert, key]);
  /** What the last look saw, and what was last taken or refused. */
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
      // Whoever has the one of before is better off with it.
      if (Date.parse(facts.expires) <= clock()) throw new Fault("FAILED_PRECONDITION", `GANTRY_TLS_CERT: the certificate has expired: ${facts.expires}`);
      use(found);
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
  // One look at a time: of two that end in the other order the older pair would stay.
  let last: Promise<void> = Promise.resolve();
  const nextLook = (isTold: boolean): Promise<void> => (last = last.then(() => look(isTold)));
  let isLooking = false;
  const timer = setInterval(() => {
    // Where a look takes longer than the time to the next one, there is no use in another.
    if (isLooking) return;
    isLooking = true;
    void nextLook(false).finally(() => {
      isLooking = false;
    });
  }, lookMs);
  timer.unref();
  return { renew: () => nextLook(true), stop: () => clearInterval(timer) };
};

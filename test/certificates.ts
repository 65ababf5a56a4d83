// Creates certificate authorities and certificates with openssl in a folder of the test.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

export interface Certificate {
  readonly certificateFile: string;
  readonly keyFile: string;
}

const openssl = (args: readonly string[]): void => void execFileSync("openssl", args, { stdio: "ignore" });
const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
const filesOf = (folder: string, name: string): Certificate => ({ certificateFile: join(folder, `${name}.pem`), keyFile: join(folder, `${name}.key`) });

export const makeAuthority = (folder: string, name: string): Certificate => {
  const files = filesOf(folder, name);
  openssl(["req", "-x509", ...newKey, "-days", "60", "-subj", `/CN=${name}`, "-keyout", files.keyFile, "-out", files.certificateFile]);
  return files;
};

/** Creates a server certificate for names such as "DNS:localhost,IP:127.0.0.1". `ended`: already expired. */
export const signCertificate = (folder: string, name: string, authority: Certificate, names: string, { ended = false } = {}): Certificate => {
  const files = filesOf(folder, name);
  const [request, extensions] = [join(folder, `${name}.csr`), join(folder, `${name}.ext`)];
  openssl(["req", "-new", ...newKey, "-subj", `/CN=${name}`, "-keyout", files.keyFile, "-out", request]);
  writeFileSync(extensions, `subjectAltName=${names}\n`);
  const times = ended ? ["-days", "-1"] : ["-days", "30"];
  const { certificateFile, keyFile } = authority;
  openssl([
    "x509",
    "-req",
    "-in",
    request,
    "-CA",
    certificateFile,
    "-CAkey",
    keyFile,
    "-CAcreateserial",
    ...times,
    "-extfile",
    extensions,
    "-out",
    files.certificateFile,
  ]);
  // A server sends the chain.
  writeFileSync(files.certificateFile, readFileSync(files.certificateFile, "utf8") + readFileSync(certificateFile, "utf8"));
  return files;
};

export const readCertificateFiles = async ({ certificateFile, keyFile }: Certificate): Promise<{ readonly cert: string; readonly key: string }> => ({
  cert: await readFile(certificateFile, "utf8"),
  key: await readFile(keyFile, "utf8"),
});

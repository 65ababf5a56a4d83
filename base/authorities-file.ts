// The text of a file of certificate authorities (GANTRY_CA_FILE), as its certificates: read when the settings are, and again by
// whoever trusts them. Whether each of them can be read, who makes something of it finds.

const certificateForm = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g;

/** The certificates of a PEM file, in its order. Throws an Error of one line, which follows the file's or the setting's name. */
export const splitAuthorities = (pem: string): string[] => {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem)) throw new Error("holds a private key: certificates alone belong there");
  const blocks = pem.match(certificateForm) ?? [];
  if (blocks.length === 0) throw new Error("must contain a PEM certificate");
  return blocks;
};

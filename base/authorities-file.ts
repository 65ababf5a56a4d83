// Splits a file of certificate authorities (GANTRY_CA_FILE) into its certificates. Each consumer parses them itself.

const certificateForm = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g;

/** Returns the certificates of a PEM file in order. The message of a thrown Error continues the name of the file or setting. */
export const splitAuthorities = (pem: string): string[] => {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem)) throw new Error("holds a private key: certificates alone belong there");
  const blocks = pem.match(certificateForm) ?? [];
  if (blocks.length === 0) throw new Error("must contain a PEM certificate");
  return blocks;
};

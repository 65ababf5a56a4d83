// The server's own address in samples, in place of the addresses that the texts use.

/** Changes the code of a sample. */
export type Fill = (code: string) => string;

const withDots = (text: string): string => text.replaceAll(".", "[.]");

/** Returns a function that puts the server's public URL into samples, without the options for servers in clear text if it has TLS. */
export const fillWith = (publicUrl: string): Fill => {
  const { origin, host, protocol } = new URL(publicUrl);
  return (code) => {
    const filled = code
      .replaceAll(/https?:\/\/(?:127\.0\.0\.1:8080|gantry\.example\.com)(?![\w.:-])/g, () => origin)
      .replaceAll("http://127[.]0[.]0[.]1:8080", () => withDots(origin))
      .replaceAll(/(?<![\w.:-]|LISTEN=)(?:127\.0\.0\.1:8080|gantry\.example\.com)(?![\w.:-])/g, () => host)
      .replaceAll(/\$GANTRY_SERVER(?=\/)/g, () => origin);
    return protocol === "https:" ? filled.replaceAll(/ --(?:src-|dest-)?tls-verify=false/g, "") : filled;
  };
};

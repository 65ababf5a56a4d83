// Determines a company by a user's verified e-mail domain (resources: Groups).

// Public mail services: their domains belong to no company. GANTRY_FREE_MAIL_DOMAINS adds more.
const freeMail: ReadonlySet<string> = new Set([
  "126.com",
  "163.com",
  "aol.com",
  "duck.com",
  "fastmail.com",
  "gmail.com",
  "gmx.at",
  "gmx.ch",
  "gmx.com",
  "gmx.de",
  "gmx.net",
  "googlemail.com",
  "hey.com",
  "hotmail.com",
  "icloud.com",
  "laposte.net",
  "libero.it",
  "live.com",
  "mac.com",
  "mail.com",
  "mail.ru",
  "me.com",
  "msn.com",
  "naver.com",
  "orange.fr",
  "outlook.com",
  "pm.me",
  "proton.me",
  "protonmail.com",
  "qq.com",
  "rediffmail.com",
  "rocketmail.com",
  "seznam.cz",
  "t-online.de",
  "tutanota.com",
  "tuta.com",
  "web.de",
  "yahoo.com",
  "yahoo.co.jp",
  "yahoo.co.uk",
  "yahoo.de",
  "yahoo.fr",
  "yandex.com",
  "yandex.ru",
  "ymail.com",
  "zoho.com",
]);

/** Returns the domain of a verified address; undefined if absent or a free mail domain. */
export const companyDomain = (verifiedEmail: string | undefined, free: readonly string[]): string | undefined => {
  const [, domain] = /^[^@]+@([^@]+)$/.exec(verifiedEmail?.toLowerCase() ?? "") ?? [];
  return domain === undefined || freeMail.has(domain) || free.includes(domain) ? undefined : domain;
};

const domainForm = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const isDomain = (name: string): boolean => domainForm.test(name);

// Words that readers of other products type, with the words of these docs. The search looks for either.

const groups: readonly (readonly string[])[] = [
  ["sso", "oidc", "okta", "entra", "keycloak", "provider", "sign"],
  ["login", "log", "signin", "sign"],
  ["logout", "session"],
  ["rbac", "role", "roles", "binding", "permission"],
  ["permission", "permissions", "capability", "capabilities", "role"],
  ["access", "permission", "why"],
  ["webhook", "webhooks", "subscription", "subscriptions", "sink"],
  ["notification", "notifications", "event", "events", "webhook"],
  ["scan", "scanner", "scanning", "vulnerability", "vulnerabilities", "grype", "trivy"],
  ["cve", "cves", "vulnerability", "advisory", "affected"],
  ["robot", "machine", "ci", "identity"],
  ["project", "projects", "namespace", "folder", "group", "groups"],
  ["user", "users", "member", "members", "membership", "identity"],
  ["password", "secret", "token", "credentials"],
  ["artifact", "image", "images", "repo"],
  ["repository", "repositories", "repo", "repos"],
  ["install", "setup", "deploy", "deployment"],
  ["config", "configure", "settings", "setting", "configuration"],
  ["upgrade", "update", "migrate", "migration"],
  ["backup", "restore", "recover"],
  ["undelete", "undo", "restore", "deleted"],
  ["ha", "cluster", "replica", "failover", "several"],
  ["monitor", "monitoring", "prometheus", "grafana", "metrics", "alerts"],
  ["quota", "quotas", "limit", "limits"],
  ["kubernetes", "k8s", "helm"],
  ["ai", "llm", "assistant", "assistants", "mcp"],
  ["delete", "remove"],
  ["cli", "command", "commands"],
  ["sdk", "client", "clients"],
];

const byWord = new Map<string, readonly string[]>();
// The first word of a group is what people type; the others are what the docs say.
for (const [typed = "", ...others] of groups) byWord.set(typed, [...(byWord.get(typed) ?? []), ...others]);

/** Returns the words to search for in place of `word`, which comes first. */
export const withSynonyms = (word: string): readonly string[] => [word, ...(byWord.get(word.toLowerCase()) ?? [])];

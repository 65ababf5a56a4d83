// Words of other products, and the words of these docs for them. The searches of pages and of tools look for both.

const wordsOfDocs: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    sso: ["oidc", "okta", "entra", "keycloak", "provider", "sign"],
    login: ["log", "signin", "sign"],
    logout: ["session"],
    rbac: ["role", "roles", "binding", "permission"],
    permission: ["permissions", "capability", "capabilities", "role"],
    access: ["permission", "why"],
    webhook: ["webhooks", "subscription", "subscriptions", "sink"],
    notification: ["notifications", "event", "events", "webhook"],
    scan: ["scanner", "scanning", "vulnerability", "vulnerabilities", "grype", "trivy"],
    cve: ["cves", "vulnerability", "advisory", "affected"],
    robot: ["machine", "ci", "identity"],
    project: ["projects", "namespace", "folder", "group", "groups"],
    user: ["users", "member", "members", "membership", "identity"],
    password: ["secret", "token", "credentials"],
    artifact: ["image", "images", "repo"],
    repository: ["repositories", "repo", "repos"],
    install: ["setup", "deploy", "deployment"],
    config: ["configure", "settings", "setting", "configuration"],
    upgrade: ["update", "migrate", "migration"],
    backup: ["restore", "recover"],
    undelete: ["undo", "restore", "deleted"],
    ha: ["cluster", "replica", "failover", "several"],
    monitor: ["monitoring", "prometheus", "grafana", "metrics", "alerts"],
    quota: ["quotas", "limit", "limits"],
    kubernetes: ["k8s", "helm"],
    ai: ["llm", "assistant", "assistants", "mcp"],
    delete: ["remove"],
    cli: ["command", "commands"],
    sdk: ["client", "clients"],
  }),
);

/** Returns the words of the docs for a word of a query. */
export const synonymsOf = (word: string): readonly string[] => wordsOfDocs.get(word.toLowerCase()) ?? [];

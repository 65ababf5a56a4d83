// Parses the subset of Dockerfile that ours uses: stages and their instructions in order. It refuses the rest.

export interface DockerStep {
  readonly does: string;
  /** Its words; for RUN, one text for a shell; for a bracketed form, its entries. */
  readonly of: readonly string[];
}

export interface DockerStage {
  readonly base: string;
  readonly name: string | undefined;
  readonly steps: readonly DockerStep[];
}

const known = ["ARG", "COPY", "RUN", "ENV", "USER", "WORKDIR", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"];

const wordsOf = (text: string): string[] => (text.startsWith("[") ? (JSON.parse(text) as string[]) : text.split(/\s+/));

/** Returns the stages in order; the last is the image. */
export const readDockerfile = (content: string): DockerStage[] => {
  const stages: { base: string; name: string | undefined; steps: DockerStep[] }[] = [];
  const lines = content
    .split("\n")
    .filter((line) => !line.startsWith("#"))
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line !== "");
  for (const line of lines) {
    const [, does = "", rest = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (does === "FROM") {
      const [base = "", , name] = rest.split(/\s+/);
      stages.push({ base, name, steps: [] });
      continue;
    }
    const stage = stages.at(-1);
    if (!stage || !known.includes(does)) throw new Error(`the Dockerfile says what is not known here: ${line}`);
    const of = does === "RUN" ? [rest] : does === "HEALTHCHECK" ? wordsOf(rest.replace(/^(?:--\S+ )*CMD /, "")) : wordsOf(rest);
    stage.steps.push({ does, of });
  }
  return stages;
};

// `gantry completion SHELL`: the script that a shell loads to complete commands, options and their values. It calls gantry's hidden
// command __complete with the words so far, which answers from the tree of commands (cli/completion): no server is asked.

import { Argument, type Command } from "commander";
import { shellNames, shellScript } from "../completion/scripts.ts";
import { newCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

export const completionCommand = ({ out }: Terminal): Command =>
  newCommand({
    name: "completion",
    usage: "SHELL",
    description: `Prints the script that completes gantry's commands, options and values in bash, zsh or fish. Names of contexts come from
this user's own; no server is asked.`,
    notes: `Examples:  source <(gantry completion bash)                  in ~/.bashrc
           source <(gantry completion zsh)                   in ~/.zshrc, behind compinit
           gantry completion fish > ~/.config/fish/completions/gantry.fish`,
    wrongArguments: "name one shell: gantry completion bash, zsh or fish",
  })
    .addArgument(new Argument("<SHELL>").choices(shellNames))
    .action((shell: (typeof shellNames)[number]) => {
      out.write(shellScript(shell));
    });

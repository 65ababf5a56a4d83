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
    description: `Print a script that completes commands, options and values of gantry in bash, zsh or fish. Completion never contacts a
server: context names come from your context file.`,
    notes: `Examples:  source <(gantry completion bash)                  in ~/.bashrc
           source <(gantry completion zsh)                   in ~/.zshrc, after compinit
           gantry completion fish > ~/.config/fish/completions/gantry.fish`,
    wrongArguments: "shell required: gantry completion bash, zsh or fish",
  })
    .addArgument(new Argument("<SHELL>").choices(shellNames))
    .action((shell: (typeof shellNames)[number]) => {
      out.write(shellScript(shell));
    });

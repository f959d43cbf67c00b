//! What can be asked for, and who answers.
//!
//! Each command has a file of its own with its arguments, their help and its `run`; this one lists
//! them. A command stands here once it exists.
//!
//! Invariant: every ending goes through [`run`], which knows the exit code.

use crate::completions::{self, CompletionsArgs, ManArgs};
use crate::console::Console;
use crate::exit::{self, Exit};
use crate::{check, compare, conform, explain, explore, lint, mutants, replay, shrink, tune};
use anyhow::Result;
use clap::{Parser, Subcommand};
use std::io::Write as _;

const EXAMPLES: &str = "\
Examples:
  plimsoll explore                       try worlds of our own for a minute at most
  plimsoll replay found.trace            see one failure again, step by step
  plimsoll tune trips.csv --event-col pickup --arrival-col received
                                         what each delay would lose, and cost

Exit codes:
  0    everything held
  1    a violation was found
  2    wrong usage, or input that cannot be read
  3    nothing ran: no seed, no file, no row
  70   a bug in plimsoll itself
  130  interrupted";

/// Find out whether a stream engine's windows are right.
///
/// plimsoll runs an event-time engine in seeded worlds, judges every figure by an independent
/// reference, and turns a wrong one into a small file that reproduces it. For recordings it says
/// which row was late, by which rule, and which delay would have kept it.
#[derive(Parser, Debug)]
#[command(
    name = "plimsoll",
    version = exit::VERSION,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
pub(crate) struct Cli {
    /// Print results as JSON; errors stay sentences on standard error
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Explore(explore::Args),
    Replay(replay::Args),
    Shrink(shrink::Args),
    Run(crate::run::Args),
    Check(check::Args),
    Compare(compare::Args),
    Tune(tune::Args),
    Explain(explain::Args),
    Lint(lint::Args),
    Conform(conform::Args),
    Mutants(mutants::Args),
    /// Write completions for a shell to standard output
    #[command(hide = true)]
    Completions(CompletionsArgs),
    /// Write a manual page to standard output
    #[command(hide = true)]
    Man(ManArgs),
}

/// Reads the arguments, does what they ask for, and says how it ended.
pub(crate) fn run() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help goes to standard output, usage errors to standard error. Where neither can be
            // written nobody is left to be told.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Held };
        }
    };
    let mut console = Console::new(cli.json);
    let ended = answer(&cli.command, &mut console);
    let flushed = console.out.flush();
    match ended.and_then(|exit| flushed.map(|()| exit).map_err(Into::into)) {
        Ok(exit) => exit,
        Err(error) if exit::is_closed_pipe(&error) => Exit::Held,
        Err(error) => {
            let _ = writeln!(console.err, "{}", exit::sentence(&error).trim_end());
            Exit::Usage
        }
    }
}

fn answer(command: &Command, console: &mut Console) -> Result<Exit> {
    match command {
        Command::Explore(args) => explore::run(args, console),
        Command::Replay(args) => replay::run(args, console),
        Command::Shrink(args) => shrink::run(args, console),
        Command::Run(args) => crate::run::run(args, console),
        Command::Check(args) => check::run(args, console),
        Command::Compare(args) => compare::run(args, console),
        Command::Tune(args) => tune::run(args, console),
        Command::Explain(args) => explain::run(args, console),
        Command::Lint(args) => lint::run(args, console),
        Command::Conform(args) => conform::run(args, console),
        Command::Mutants(args) => mutants::run(args, console),
        Command::Completions(args) => completions::completions(args, console),
        Command::Man(args) => completions::man(args, console),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_of_the_arguments_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_visible_command_says_what_it_does_and_shows_an_example() {
        for command in Cli::command().get_subcommands().filter(|it| !it.is_hide_set()) {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name} does not say what it does");
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let example = format!("plimsoll {name}");
            assert!(after.contains(&example), "{name} shows no example");
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{name}: {} has no help", argument.get_id());
            }
        }
    }

    #[test]
    fn the_help_lists_every_exit_code() {
        for exit in Exit::ALL {
            assert!(EXAMPLES.contains(&format!("\n  {:<5}", exit.code())), "{exit:?}");
        }
    }
}

#!/usr/bin/perl
# resume.t -- progress survives: killed at each step, two at once, a home that cannot be written
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play;
use Cli;
use Test::More;

# ---- kill -9 at each step, then go on --------------------------------------------------------
my @steps = @Play::STEPS;
my @after = (3 .. 11, 99);     # the number of each step, and of none
for my $k (0 .. $#steps) {
    fresh();
    my $lines = join "\n", map { $RIGHT{$_} } @steps[0 .. $k - 1];
    my $text = play_until($lines, qr/Step $after[$k] of 11.*\n(?:.*\n)*.*:(?:answer|hint)/);
    my $rest = learn(join "\n", 'x:sum(), mean ~= nil, spread ~= nil', (map { $RIGHT{$_} }
        @steps[$k .. $#steps]), '');
    my $mean = $k > 1 ? 'true' : 'false';
    my $spread = $k >= 2 ? 'true' : 'false';
    has_text($rest, qr/Step $after[$k] of 11/, "killed at $steps[$k], it goes on there");
    has_text($rest, qr/tensor\(9\.\)\n$mean\n$spread\n/, '... with the session as it was');
    has_text($rest, qr/\[DONE\] .* 9 of 9 steps answered/, '... to the end, with nothing lost');
}

# ---- a journal that was cut, a newer one -----------------------------------------------------
my $data = fresh();
learn(join "\n", $RIGHT{guess}, $RIGHT{do}, '');
my $file = "$data/dlrepl/progress.jsonl";
open my $out, '>>', $file or die;
print $out qq({"v": 7, "id": "n", "event": "pass", "lesson": "X01"}\n{"v": 1, "id": "zz", "ev);
close $out;
my $text = learn(":review\n");
has_text($text,
    qr/\[NOTE\] 1 line of your progress could not be read .*1 line.*\snewer/s,
    'a cut line and a newer one are told');
has_text($text, qr/4 do task: passed/, '... and the rest counts');
learn("$RIGHT{fix}\n");
has_text(learn(":review\n"), qr/5 fix fix: passed/, '... and what comes after too');

# ---- two sessions at once --------------------------------------------------------------------
fresh();
my @pids;
for my $half (0, 1) {
    my $pid = fork;
    if (!$pid) {
        learn(join "\n", $RIGHT{guess}, (':hint') x 4, (':reveal') x 8, $RIGHT{do}, '');
        POSIX::_exit(0);
    }
    push @pids, $pid;
}
waitpid $_, 0 for @pids;
my @lines = split /\n/, progress();
is(scalar(grep { !/^\{.*\}$/ } @lines), 0, 'two sessions write whole lines');
is(() = progress() =~ /"event": "reveal"/g, 16, '... all of them');

# ---- a home that cannot be written -----------------------------------------------------------
$ENV{XDG_DATA_HOME} = '/proc/nowhere';
$text = learn(join "\n", $RIGHT{guess}, $RIGHT{do}, ':review', '');
is(() = $text =~ /not\s+kept:/g, 1, 'a home that cannot be written is told once');
has_text($text, qr/4 do task: passed/, '... and the lesson goes on');
delete @ENV{qw(XDG_DATA_HOME HOME)};
has_text(learn("$RIGHT{guess}\n"), qr/not kept.*Step 4/s, 'without any home too');

# ---- export, import, merge, forget -----------------------------------------------------------
fresh();
learn(join "\n", $RIGHT{guess}, ":progress export $TMP/out.jsonl", '');
my $first = $ENV{XDG_DATA_HOME};
fresh();
has_text(learn(":progress merge $TMP/out.jsonl\n:review\n"),
    qr/events? (?:was|were) new.*guess predict: passed/s,
    'progress of another machine is merged');
has_text(learn(":progress import $TMP/out.jsonl\n:progress frob\n:progress export\n"),
    qr/events were read.*What was there before.*:progress, or :progress export.*which file/s,
    '... or takes the place of this one');
has_text(learn(":forget X01\n:progress\n"), qr/X01 is forgotten: \d+ events are gone/,
    'a lesson is forgotten');
unlike(progress(), qr/"X01".*"pass"/, '... for good');

done_testing();

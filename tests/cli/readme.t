#!/usr/bin/perl
# readme.t -- the session in the README is what the prompt really says, and its programs run
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

$ENV{LC_ALL} = 'C.UTF-8';
my $readme = Cli::read_file('README.md');

# ---- the session: each input after "> ", and what stands below it ----------------------------
my ($session) = $readme =~ /## A minute at the prompt\n\n```\n(.*?)```/s;
my @parts = grep { length } split /^> /m, $session;
cmp_ok(scalar @parts, '>', 8, 'the README shows a session');
my $braille = run({}, $DLREPL, '-e', 'print(dlrepl._utf8())')->{out} =~ /true/;
my $input = '';
for my $part (@parts) {
    my ($line, $shown) = split /\n/, $part, 2;
    next if $line =~ /progress/;             # its times differ
    next if $line =~ /plot/ && !$braille;
    my $r = repl("$input$line\nprint('=====')\n");
    $input .= "$line\n";
    my $out = "$r->{out}$r->{err}";
    ok(index($out, $shown // '') >= 0, "README: $line") or diag("want: $shown\ngot: $out");
}

# ---- the programs ------------------------------------------------------------------------------
for my $program ($readme =~ /```lua\n(.*?)```/sg) {
    my ($first) = split /\n/, $program;
    my $r = lua($program);
    is($r->{err}, '', "README: the program that begins with '$first' runs");
}

# ---- files that it names -------------------------------------------------------------------------
for my $file ($readme =~ /\]\(([\w\/.-]+)\)/g) { ok(-e $file, "README: $file is there"); }

unlink "run.pth";         # the checkpoint that a program above writes
done_testing();
